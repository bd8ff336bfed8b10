"""Transitions for Oat hold the tokens and rewards of ``training_rows``, turn by turn.

They are made as ``oat.types.Transition`` where Oat is installed, and as a dataclass of the same
fields elsewhere.
"""

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from selection import thorough

from gem_adapters.oat import transitions
from gem_adapters.testing.adapters import (
    FAULTY,
    FORGETFUL_TEMPLATE,
    ScriptedModel,
    case_rows,
    make_tokenizer,
)
from gem_core.errors import DataError
from gem_rollout import (
    Limits,
    Prompt,
    RowEnvs,
    Sampled,
    Trajectory,
    env_rows,
    play_tokens,
    training_rows,
)
from gem_rollout.models.tiny_model import save_tiny_model

pytest.importorskip("tokenizers")

ENVS = ["Game", "Turns", "Sums", "Asynchronous"]
GAMES = ["game:GuessTheNumber-v0-easy", "game:Mastermind-v0-easy"]
PROCESS = Path(__file__).with_name("oat_process.py")
SEEDS = 16 if thorough() else 6


@dataclasses.dataclass
class Fields:
    """The fields of Oat's ``Transition``."""

    obs: str
    action: str
    rewards: float
    done: bool
    prompt: str
    prompt_ids: list[int]
    response: str
    response_ids: list[int]
    response_logprobs: list[float]
    response_is_truncated: bool
    action_is_formatted: bool
    loss_mask: bool = True
    info: dict[str, Any] | None = None


@pytest.fixture(scope="module")
def oat() -> Any:
    """Oat's types."""
    return pytest.importorskip("oat.types", reason="see docs/trainers/more.md")


@pytest.fixture(scope="module", params=["ours", *(["oat"] if find_spec("oat") else [])])
def transition(request: pytest.FixtureRequest) -> Any:
    """The type of a transition."""
    if request.param == "ours":
        return Fields
    return request.getfixturevalue("oat").Transition


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


def play(rows: list[dict[str, Any]], model: ScriptedModel, **options: Any) -> list[Trajectory]:
    async def generate(prompt: Prompt) -> Sampled:
        return model.sample(prompt.ids, prompt.room)

    envs = RowEnvs()
    return [
        asyncio.run(play_tokens(envs.session(row, model.tokenizer, **options), generate))
        for row in rows
    ]


def played(env: str, tokenizer: Any, number: int = SEEDS, **options: Any) -> list[Trajectory]:
    """Play episodes of an environment with different seeds."""
    if ":" in env:
        rows = [row for seed in range(number) for row in env_rows(env, 1, seed=seed)]
    else:
        rows = [case_rows(env, seed=seed)[0] for seed in range(number)]
    return play(rows, ScriptedModel(tokenizer), **options)


class TestTurns:
    @pytest.mark.parametrize(
        "env",
        [ENVS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in (*ENVS[1:], *GAMES))],
    )
    def test_turns_have_the_tokens_and_rewards_of_the_row(
        self, tokenizer: Any, transition: Any, env: str
    ) -> None:
        for trajectory in played(env, tokenizer):
            (row,) = training_rows(trajectory)
            found = transitions(trajectory, transition, tokenizer)
            whole = row.prompt_ids + row.response_ids
            mask = [False] * len(row.mask)
            for one, (start, end) in zip(found, row.spans, strict=True):
                assert type(one) is transition
                assert one.prompt_ids + one.response_ids == whole[: len(row.prompt_ids) + end]
                assert one.response_logprobs == row.logprobs[start:end]
                first = len(one.prompt_ids) - len(row.prompt_ids)
                mask[first : first + len(one.response_ids)] = [True] * len(one.response_ids)
            assert mask == row.mask
            assert [one.rewards for one in found] == row.turn_rewards
            assert [one.done for one in found] == [False] * (len(found) - 1) + [True]
            assert all(one.loss_mask and not one.response_is_truncated for one in found)

    @pytest.mark.slow
    def test_turns_have_their_own_prompts_where_earlier_turns_are_rewritten(
        self, transition: Any
    ) -> None:
        forgetful = make_tokenizer(chat_template=FORGETFUL_TEMPLATE)
        for trajectory in played("Turns", forgetful, 4, one_sequence="split"):
            rows = training_rows(trajectory, one_sequence="split")
            found = transitions(trajectory, transition, forgetful)
            assert len(rows) == len(found) == len(trajectory.turns) == 8
            for one, row in zip(found, rows, strict=True):
                assert (one.prompt_ids, one.response_ids) == (row.prompt_ids, row.response_ids)
                assert (one.response_logprobs, [one.rewards]) == (row.logprobs, row.turn_rewards)
            assert [one.done for one in found] == [False] * 7 + [True]

    def test_turns_have_the_texts(self, tokenizer: Any, transition: Any) -> None:
        (trajectory,) = played("Turns", tokenizer, 1)
        for turn, one in zip(
            trajectory.turns, transitions(trajectory, transition, tokenizer), strict=True
        ):
            assert (one.obs, one.action) == (turn.observation, turn.action)
            assert one.prompt == tokenizer.decode(one.prompt_ids)
            assert turn.observation in one.prompt
            assert one.prompt.endswith("<|im_start|>assistant\n")
            assert one.response == turn.action
            assert tokenizer.eos_token_id == one.response_ids[-1]

    def test_turns_say_which_actions_had_no_valid_form(
        self, tokenizer: Any, transition: Any
    ) -> None:
        (trajectory,) = played(GAMES[0], tokenizer, 1)
        (one,) = transitions(trajectory, transition, tokenizer)
        assert trajectory.turns[0].info["format_error"]
        assert not one.action_is_formatted
        (trajectory,) = played("Turns", tokenizer, 1)
        assert all(one.action_is_formatted for one in transitions(trajectory, Fields, tokenizer))

    def test_turns_have_an_info_each_as_oat_writes_to_it(
        self, tokenizer: Any, transition: Any
    ) -> None:
        (trajectory,) = played("Turns", tokenizer, 1)
        first, second, *_ = transitions(trajectory, transition, tokenizer)
        first.info["advantages"] = 1.0
        assert second.info == {}
        first.prompt_ids.clear()
        assert transitions(trajectory, transition, tokenizer)[0].prompt_ids


class TestLimits:
    @pytest.mark.slow
    @pytest.mark.parametrize("ignored", [False, True])
    def test_replies_that_were_cut_off_are_marked(
        self, tokenizer: Any, transition: Any, *, ignored: bool
    ) -> None:
        kinds = set()
        for trajectory in played("Turns", tokenizer, limits=Limits(turn_tokens=7)):
            found = transitions(trajectory, transition, tokenizer, ignore_no_eos=ignored)
            for turn, one in zip(trajectory.turns, found, strict=True):
                is_cut = one.response_ids[-1] != tokenizer.eos_token_id
                assert one.response_is_truncated is is_cut
                assert one.loss_mask is not (ignored and is_cut)
                assert one.response == turn.action
                kinds.add(is_cut)
        assert kinds == {False, True}

    def test_the_last_turn_of_a_truncated_episode_is_done(
        self, tokenizer: Any, transition: Any
    ) -> None:
        for trajectory in played("Turns", tokenizer, 4, limits=Limits(response_tokens=300)):
            found = transitions(trajectory, transition, tokenizer)
            assert trajectory.turns[-1].truncated
            assert 1 < len(found) < 8
            assert [one.done for one in found] == [False] * (len(found) - 1) + [True]


class TestWhatCannotBeTrainedOn:
    @pytest.mark.parametrize("misbehaves", ["", "raises", "empty", "short_logprobs"])
    def test_failed_episodes_have_no_transitions(
        self, tokenizer: Any, transition: Any, misbehaves: Any
    ) -> None:
        rows = case_rows("Turns", label=FAULTY) if misbehaves else case_rows("Failing")
        (trajectory,) = play(rows, ScriptedModel(tokenizer, misbehaves=misbehaves))
        assert trajectory.error is not None
        assert len(trajectory.turns) == 1
        assert transitions(trajectory, transition, tokenizer) == []

    def test_missing_log_probabilities_are_refused(self, tokenizer: Any, transition: Any) -> None:
        model = ScriptedModel(tokenizer, misbehaves="no_logprobs")
        rows = case_rows("Turns", label=FAULTY)
        (trajectory,) = play(rows, model, logprobs="optional")
        assert trajectory.error is None
        with pytest.raises(DataError, match=r"Turn 2 .* has no log-probabilities"):
            transitions(trajectory, transition, tokenizer)

    def test_missing_token_ids_are_refused(self, tokenizer: Any, transition: Any) -> None:
        (trajectory,) = played("Turns", tokenizer, 1)
        for turn in trajectory.turns:
            turn.generation = None
        with pytest.raises(DataError, match="no token ids"):
            transitions(trajectory, transition, tokenizer)

    def test_of_several_agents_one_is_taken(self, tokenizer: Any, transition: Any) -> None:
        (trajectory,) = played("Turns", tokenizer, 1)
        for number, turn in enumerate(trajectory.turns):
            turn.agent = "ab"[number % 2]
            turn.generation = dataclasses.replace(turn.generation, extends=False)
        with pytest.raises(DataError, match="of_agent"):
            transitions(trajectory, transition, tokenizer)
        found = transitions(trajectory.of_agent("a"), transition, tokenizer)
        assert [one.done for one in found] == [False, False, False, True]


class TestOtherProcesses:
    def test_files_give_the_same_transitions(self, tokenizer: Any, transition: Any) -> None:
        for trajectory in played("Sums", tokenizer, 4):
            line = json.dumps(trajectory.to_dict())
            again = Trajectory.from_dict(json.loads(line))
            found = transitions(again, transition, tokenizer)
            assert found == transitions(trajectory, transition, tokenizer)

    def test_fields_are_carried_as_json(self, tokenizer: Any, transition: Any) -> None:
        for trajectory in played("Game", tokenizer, 4):
            lines = json.dumps(transitions(trajectory, dict, tokenizer))
            found = [transition(**fields) for fields in json.loads(lines)]
            assert found == transitions(trajectory, transition, tokenizer)


def test_the_fields_are_those_of_oat(oat: Any) -> None:
    ours, theirs = (
        {f.name: f.default for f in dataclasses.fields(c)} for c in (Fields, oat.Transition)
    )
    assert ours == theirs


def in_oat(mode: str, path: Path, gamma: float = 1.0) -> dict[str, Any]:
    """Return the batch that Oat's own actor and learner make."""
    command = [sys.executable, str(PROCESS), mode, str(path), str(gamma)]
    environ = {**os.environ, "GEM_PYTHON": sys.executable}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert ran.returncode == 0, ran.stderr
    batch: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return batch


def returns(rewards: list[float], gamma: float) -> list[float]:
    """Return the discounted sum of the rewards from each turn on."""
    return [
        sum(reward * gamma**turn for turn, reward in enumerate(rewards[first:]))
        for first in range(len(rewards))
    ]


@pytest.mark.parametrize("gamma", [1.0, 0.5])
@pytest.mark.usefixtures("oat")
def test_oats_own_learner_takes_them(tokenizer: Any, tmp_path: Path, gamma: float) -> None:
    trajectories = [one for env in ENVS for one in played(env, tokenizer, 4)]
    episodes = [transitions(one, dict, tokenizer, ignore_no_eos=True) for one in trajectories]
    path = tmp_path / "episodes.json"
    path.write_text(json.dumps(episodes))
    batch = in_oat("learn", path, gamma)
    turns = [fields for episode in episodes for fields in episode]
    for name in ("response_ids", "response_logprobs", "rewards", "loss_mask"):
        assert batch[name] == [fields[name] for fields in turns]
    expected = [returns([turn["rewards"] for turn in episode], gamma) for episode in episodes]
    assert batch["returns"] == pytest.approx([one for each in expected for one in each], rel=1e-6)
    assert batch["length"] == pytest.approx(len(turns) / len(episodes))


@pytest.mark.usefixtures("oat")
def test_the_actor_of_the_example_samples_for_the_program_that_plays(tmp_path: Path) -> None:
    batch = in_oat("act", save_tiny_model(tmp_path))
    assert sum(batch["lengths"]) >= 20
    assert max(batch["lengths"]) > 1
    for ids, logprobs in zip(batch["response_ids"], batch["response_logprobs"], strict=True):
        assert logprobs == [-one / 64 for one in ids]
    cut = [len(ids) == 256 for ids in batch["response_ids"]]
    assert batch["is_truncated"] == cut
    assert any(cut)
    assert not all(cut)
