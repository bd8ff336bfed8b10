"""AReaL's own executor plays environments: the same rows as ours, and faults are rejected."""

import asyncio
import json
import random
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import gem_core
from gem_adapters.testing.adapters import FORGETFUL_TEMPLATE
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation
from gem_core.plugins import default_registry
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    Row,
    RowEnvs,
    Sampled,
    env_rows,
    play_tokens,
    training_rows,
)
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.agent import SequenceError
from gem_rollout.tokens.limits import PromptTooLongError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of AReaL and its dependencies
    api = pytest.importorskip(
        "areal.api", reason="areal is not installed: pip install 'gem-adapters[areal]'"
    )
    from areal.api import ModelResponse
    from areal.api.cli_args import GenerationHyperparameters

    from gem_adapters.areal import GemWorkflow
    from gem_adapters.checks.areal import play, row_of_tensors
    from gem_adapters.rows import plain_layout

pytestmark = pytest.mark.filterwarnings("ignore")

GAME = "game:GuessTheNumber-v0-easy"


class Room(BaseEnv):
    """Three turns with the rewards 1 to 3; may fail or hang in the second."""

    blocking = True
    released = threading.Event()

    def __init__(self, fault: str = "", words: int = 1) -> None:
        self.fault, self.words = fault, words

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        if self.fault == "reset":
            raise RuntimeError("the room has no door")
        return f"{self.rng.random()}" + " word" * self.words, {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        if self.turn == 2 and self.fault == "raise":
            raise RuntimeError("the room is on fire")
        if self.turn == 2 and self.fault == "hang":
            self.released.wait()
        return Step(f"turn {self.turn}", float(self.turn), self.turn == 3, False, {})


class Engine:
    """Replies with tokens that are a function of the prompt."""

    def __init__(self, tokenizer: Any, **fields: Any) -> None:
        self.tokenizer, self.fields = tokenizer, fields
        self.asked: list[Any] = []

    def get_version(self) -> int:
        return 0

    def reply(self, prompt_ids: Sequence[int], room: int | None) -> Sampled:
        rng = random.Random(str(list(prompt_ids)))
        ids = rng.choices(self.tokenizer.encode("0123456789 ab"), k=rng.randint(1, 6))
        ids = [*ids[: (room or 7) - 1], self.tokenizer.eos_token_id]
        return Sampled(ids, [-rng.random() for _ in ids], is_complete=True)

    async def agenerate(self, request: Any) -> Any:
        self.asked.append(request)
        reply = self.reply(request.input_ids, request.gconfig.max_new_tokens)
        fields = {
            "input_tokens": request.input_ids,
            "output_tokens": reply.ids,
            "output_logprobs": reply.logprobs,
            "output_versions": [7, *[8] * (len(reply.ids) - 1)],
        }
        return ModelResponse(**{**fields, **self.fields})


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    specs = default_registry()._specs
    gem_core.list_envs("game:*")
    monkeypatch.setitem(specs, "envs", dict(specs["envs"]))
    gem_core.register("test:Room-v0", Room)
    Room.released.clear()
    yield "test:Room-v0"
    Room.released.set()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tiny_tokenizer()


def workflow(tokenizer: Any, **options: Any) -> GemWorkflow:
    sampling = {
        name: options.pop(name)
        for name in ("max_new_tokens", "max_tokens", "stop")
        if name in options
    }
    return GemWorkflow(GenerationHyperparameters(**sampling), tokenizer, **options)


def reference(rows: Sequence[dict[str, Any]], engine: Engine, limits: Limits) -> list[Row]:
    async def generate(prompt: Prompt) -> Sampled:
        return engine.reply(prompt.ids, prompt.room)

    found = []
    for row in rows:
        session = RowEnvs().session(row, engine.tokenizer, limits=limits)
        found += training_rows(asyncio.run(play_tokens(session, generate)), limits=limits)
    return found


class TestAnEpisode:
    @pytest.mark.parametrize("env", [GAME, "game:Mastermind-v0-easy", "test:Room-v0"])
    def test_an_episode_has_the_row_of_play_tokens(
        self, room: str, tokenizer: Any, env: str
    ) -> None:
        rows, engine = env_rows(env, 16, seed=5), Engine(tokenizer)
        limits = Limits(turn_tokens=5, context=900, response_tokens=400)
        played = workflow(tokenizer, max_new_tokens=5, max_tokens=900, response_tokens=400)
        found = play(played, engine, [plain_layout(row) for row in rows])
        for (tensors, error), other in zip(found, reference(rows, engine, limits), strict=True):
            assert error is None
            assert tensors is not None
            one = row_of_tensors(tensors)
            assert (one.prompt_ids, one.response_ids) == (other.prompt_ids, other.response_ids)
            assert one.mask == other.mask
            assert one.logprobs == pytest.approx(other.logprobs)
            assert one.reward == pytest.approx(other.reward)
            expected = [-1] * len(one.response_ids)
            for start, end in other.spans:
                expected[start:end] = [7, *[8] * (end - start - 1)]
            assert tensors["versions"][0].tolist()[len(one.prompt_ids) :] == expected

    @pytest.mark.parametrize(("reward", "score"), [("sum", 6), ("discounted", 2.75), ("last", 3)])
    def test_an_episode_has_one_reward(
        self, room: str, tokenizer: Any, reward: Any, score: float
    ) -> None:
        played = workflow(tokenizer, reward=reward, gamma=0.5)
        ((tensors, _),) = play(played, Engine(tokenizer), env_rows(room, 1))
        assert tensors is not None
        assert tensors["rewards"].tolist() == [score]

    def test_an_episode_never_exceeds_its_limits(self, room: str, tokenizer: Any) -> None:
        for most in (1, 3, 8, 20):
            found = play(
                workflow(tokenizer, response_tokens=most), Engine(tokenizer), env_rows(room, 2)
            )
            for tensors, _ in found:
                assert tensors is not None
                assert 0 < len(row_of_tensors(tensors).response_ids) <= most

    def test_an_episode_has_tools_and_stop_strings(self, tokenizer: Any) -> None:
        engine = Engine(tokenizer)
        played = workflow(tokenizer, config=["tools=[python]"], stop=["</a>"])
        play(played, engine, env_rows(GAME, 1))
        assert "python" in tokenizer.decode(engine.asked[0].input_ids)
        assert engine.asked[0].gconfig.stop == ["</a>"]
        assert tokenizer.eos_token_id in engine.asked[0].gconfig.stop_token_ids

    def test_an_episode_of_a_group_is_grouped_by_areal(self, room: str, tokenizer: Any) -> None:
        from areal.infra.remote_inf_engine import GroupedRolloutWorkflow
        from areal.utils import logging

        grouped = GroupedRolloutWorkflow(workflow(tokenizer), 3, logging.getLogger("test"))
        ((tensors, _),) = play(grouped, Engine(tokenizer), env_rows(room, 1))
        assert tensors is not None
        assert tensors["rewards"].tolist() == [6.0] * 3
        assert tensors["input_ids"].shape[0] == 3

    def test_an_episode_needs_no_instance(self, room: str, tokenizer: Any, tmp_path: Path) -> None:
        from areal.infra.rpc.serialization import (
            deserialize_value,
            serialize_value,
        )

        tokenizer.save_pretrained(tmp_path)
        arguments = {
            "gconfig": GenerationHyperparameters(max_new_tokens=5),
            "tokenizer": str(tmp_path),
            "config": ["tools=[python]"],
            "policy": FaultPolicy(turn_deadline=60),
        }
        sent = deserialize_value(json.loads(json.dumps(serialize_value(arguments))))
        first, second = GemWorkflow(**sent), GemWorkflow(**sent)
        assert first._tokenizer is second._tokenizer
        assert first._envs is second._envs
        ((tensors, error),) = play(first, Engine(tokenizer), env_rows(room, 1))
        assert error is None
        assert tensors is not None


class TestAFault:
    @pytest.mark.parametrize("fault", ["raise", "hang", "reset"])
    def test_a_fault_of_one_environment_of_64_rejects_its_episode_only(
        self, room: str, tokenizer: Any, fault: str
    ) -> None:
        rows, engine = env_rows(room, 64), Engine(tokenizer)
        expected = reference(rows, engine, Limits())
        rows[17]["env_kwargs"] = {"fault": fault}
        played = workflow(tokenizer, policy=FaultPolicy(turn_deadline=2.0))
        found = play(played, engine, [plain_layout(row) for row in rows])
        assert [number for number, (tensors, _) in enumerate(found) if tensors is None] == [17]
        assert all(error is None for _, error in found)
        for (tensors, _), other in zip(found, expected, strict=True):
            if tensors is not None:
                assert row_of_tensors(tensors).response_ids == other.response_ids

    @pytest.mark.parametrize(
        "fields",
        [
            {"output_logprobs": []},
            {"output_tokens": [], "output_logprobs": []},
            {"output_tokens": [5], "output_logprobs": [float("nan")]},
            {"stop_reason": "abort"},
        ],
    )
    def test_a_fault_of_the_engine_rejects_the_episode(
        self, room: str, tokenizer: Any, fields: dict[str, Any]
    ) -> None:
        engine = Engine(tokenizer, **fields)
        assert play(workflow(tokenizer), engine, env_rows(room, 1)) == [(None, None)]

    def test_a_fault_is_raised_if_asked_to(self, room: str, tokenizer: Any) -> None:
        played = workflow(tokenizer, policy=FaultPolicy(on_error="raise"))
        rows = env_rows(room, 1, env_kwargs={"fault": "raise"})
        with pytest.raises(RuntimeError, match="on fire"):
            asyncio.run(played.arun_episode(Engine(tokenizer), rows[0]))


class TestARefusal:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"reward": "turns"}, "reward must be one of sum, discounted, last"),
            ({"one_sequence": "split"}, "one_sequence must be one of raise, last"),
            ({"gamma": 2}, "gamma must be in"),
            ({"config": "tools=[python]"}, "list of strings"),
            ({"config": ["tools=[pyton]"]}, "pyton"),
            ({"prompt_tokens": 0}, "prompt_tokens is a positive int"),
        ],
    )
    def test_a_refusal_of_an_option_comes_before_the_training(
        self, tokenizer: Any, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            workflow(tokenizer, **options)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"env": GAME}, "has no seed"),
            ({"env": GAME, "seed": -1}, "seed must be a non-negative int"),
            ({"env": "game:GuessTheNumber-v0-eazy", "seed": 3}, "Did you mean"),
            ({"env": GAME, "seed": 3, "env_kwargs": {"max_turn": 3}}, "Did you mean 'max_turns'"),
        ],
    )
    def test_a_refusal_of_a_row_says_what_is_wrong(
        self, tokenizer: Any, row: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(gem_core.GemError, match=message):
            asyncio.run(workflow(tokenizer).arun_episode(Engine(tokenizer), row))

    def test_a_refusal_of_a_prompt_over_its_limit_names_it(self, room: str, tokenizer: Any) -> None:
        rows = env_rows(room, 1, env_kwargs={"words": 300})
        with pytest.raises(PromptTooLongError, match="prompt_tokens is 256"):
            asyncio.run(
                workflow(tokenizer, prompt_tokens=256).arun_episode(Engine(tokenizer), rows[0])
            )

    def test_a_refusal_of_a_template_that_forgets_names_the_turn(self, room: str) -> None:
        tokenizer = make_tiny_tokenizer(chat_template=FORGETFUL_TEMPLATE)
        (row,) = env_rows(room, 1)
        with pytest.raises(SequenceError, match="turn 2"):
            asyncio.run(workflow(tokenizer).arun_episode(Engine(tokenizer), row))
        ((tensors, _),) = play(workflow(tokenizer, one_sequence="last"), Engine(tokenizer), [row])
        assert tensors is not None
        assert tensors["rewards"].tolist() == [6.0]
