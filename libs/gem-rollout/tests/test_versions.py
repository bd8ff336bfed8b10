"""Policy versions: each sampled token keeps the version of the policy that sampled it."""

import asyncio
import copy
import json
import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.agent import BaseAgent, Generation, Reply
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation
from gem_rollout import (
    Limits,
    Prompt,
    Sampled,
    TokenSession,
    Trajectory,
    TrajectoryFile,
    Turn,
    collect,
    play_tokens,
    read_trajectories,
    training_rows,
)
from gem_rollout.models.tiny_model import make_tiny_tokenizer

VERSIONS = st.none() | st.integers(-1, 3)
REPLIES = st.lists(st.tuples(st.integers(0, 99), VERSIONS), max_size=6)


class FourTurns(BaseEnv):
    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return "start", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(f"turn {self.turn}", 1.0, self.turn == 4, False, {})


class Recorded(Generation):
    """A generation of somebody's own agent."""


def episode(*generations: Generation) -> Trajectory:
    turns = [Turn("a", "o", "a", 0.0, False, False, {}, generation=one) for one in generations]
    return Trajectory("env", "a", 0, 0, turns)


def through_a_file(played: Trajectory) -> Trajectory:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trajectories.jsonl")
        with TrajectoryFile(path) as file:
            file.append(played)
        (found,) = read_trajectories(path)
    return found


@settings(max_examples=200 if thorough() else 40, deadline=None)
@given(st.lists(st.tuples(REPLIES, st.booleans(), st.booleans()), min_size=1, max_size=4))
def test_versions_stay_with_their_tokens(replies: list[Any]) -> None:
    kinds = (Generation, Recorded)
    played = episode(
        *(
            kinds[is_own](
                prompt_ids=[7] * 3,
                token_ids=[token for token, _ in reply],
                versions=[version for _, version in reply],
                extends=extends,
            )
            for reply, extends, is_own in replies
        )
    )
    pickled = pickle.loads(pickle.dumps(played))  # noqa: S301 - our own bytes
    copies = copy.deepcopy(played), pickled, played.of_agent("a")
    for found in (played, *copies, through_a_file(played)):
        for turn, (reply, *_) in zip(found.turns, replies, strict=True):
            assert turn.generation is not None
            assert turn.generation.versions == [version for _, version in reply]
        for sequence in found.tokens():
            assert len(sequence.versions) == len(sequence.ids)
            for number, start, end in sequence.spans:
                pairs = zip(sequence.ids[start:end], sequence.versions[start:end], strict=True)
                assert list(pairs) == replies[number][0]
                sequence.versions[start:end] = [None] * (end - start)
            assert set(sequence.versions) == {None}


def test_a_file_has_runs_and_one_without_versions_is_read() -> None:
    reply = Generation(token_ids=[5] * 300, versions=[3] * 200 + [4] * 99 + [None])
    fields = json.loads(json.dumps(reply.to_dict()))
    assert fields["versions"] == [[3, 200], [4, 99], [None, 1]]
    assert Generation.from_dict(fields) == reply
    del fields["versions"]
    assert Generation.from_dict(fields).versions is None


@pytest.mark.parametrize(
    "runs", [3, [3, 2], [[3, 1]], [[3, 10**12]], [["3", 2]], [[3, 2, 1]], [[3, -1], [3, 3]]]
)
def test_runs_that_are_not_those_of_the_tokens_are_refused(runs: Any, tmp_path: Path) -> None:
    played = episode(Generation(token_ids=[5, 6], versions=[3, 3])).to_dict()
    played["turns"][0]["generation"]["versions"] = runs
    path = tmp_path / "trajectories.jsonl"
    path.write_text(json.dumps(played) + "\n")
    with pytest.raises(ConfigError, match=r"line 1.* not runs of 2 values"):
        list(read_trajectories(path))


@pytest.mark.parametrize(
    ("ids", "versions"), [([2, 3], [4]), (None, [4]), ([2], ["4"]), ([2], [True])]
)
def test_an_agent_whose_versions_are_not_those_of_its_tokens_has_failed(
    ids: Any, versions: Any
) -> None:
    """Else the file of its episodes could not be read."""

    class Confused(BaseAgent):
        def act(self, observation: Observation, info: Info) -> Reply:
            return Reply("1", Generation(prompt_ids=[1], token_ids=ids, versions=versions))

    (played,) = collect(FourTurns, Confused, episodes=1)
    error = through_a_file(played).error
    assert error is not None
    assert (error["boundary"], error["type"]) == ("agent", "DataError")
    assert "versions" in error["message"]


class TestASession:
    """Whoever samples for a session tells the versions."""

    def play(self, versions_of: Any, **options: Any) -> Trajectory:
        tokenizer = make_tiny_tokenizer()

        async def generate(prompt: Prompt) -> Sampled:
            count = random.Random(prompt.seed).randint(1, prompt.room or 6)
            ids = [*tokenizer.encode("0123456789")[: count - 1], tokenizer.eos_token_id]
            return Sampled(ids, [-0.5] * count, True, versions=versions_of(prompt, count))

        session = TokenSession(FourTurns(), tokenizer, seed=1, **options)
        return asyncio.run(play_tokens(session, generate))

    def test_weights_that_are_updated_within_a_reply_and_between_turns(self) -> None:
        def versions_of(prompt: Prompt, count: int) -> list[int]:
            return [prompt.turn] * (count // 2) + [prompt.turn + 1] * (count - count // 2)

        played = self.play(versions_of, limits=Limits(turn_tokens=6))
        (row,) = training_rows(played)
        assert len(row.spans) == 4
        for turn, (start, end) in zip(row.turns, row.spans, strict=True):
            half = (end - start) // 2
            expected = [turn] * half + [turn + 1] * (end - start - half)
            assert row.versions[start:end] == expected
        assert [one is not None for one in row.versions] == row.mask

    def test_a_sampler_that_does_not_tell_leaves_them_unknown(self) -> None:
        for versions_of in (lambda *_: [], lambda _, count: [None] * count):
            for turn in self.play(versions_of).turns:
                assert turn.generation is not None
                assert turn.generation.versions is None

    @pytest.mark.parametrize(
        "versions_of", [lambda _, count: [1] * (count + 1), lambda _, count: ["1"] * count]
    )
    def test_versions_that_are_not_those_of_the_tokens_are_a_fault(self, versions_of: Any) -> None:
        error = self.play(versions_of).error
        assert error is not None
        assert (error["boundary"], error["type"]) == ("agent", "ReplyError")
        assert "versions" in error["message"]
