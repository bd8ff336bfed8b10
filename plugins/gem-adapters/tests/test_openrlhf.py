"""OpenRLHF plays environments: its experiences are our rows, and faults are masked or raised."""

import asyncio
import json
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_refusals import CONFIGS

import gem_core
from gem_core.errors import ConfigError
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
    warnings.simplefilter("ignore")  # those of OpenRLHF and its dependencies
    for name in ("openrlhf", "ray", "torch"):
        pytest.importorskip(
            name, reason=f"{name} is not installed: see docs/trainers/more.md for the commands"
        )
    from gem_adapters.checks.openrlhf import experiences, load, row_of_experience
    from gem_adapters.openrlhf import AgentExecutor, EpisodeFailedError
    from gem_adapters.rows import openrlhf_layout

pytestmark = pytest.mark.filterwarnings("ignore")

GAME = "game:GuessTheNumber-v0-easy"
EXAMPLE = Path(__file__).parents[3] / "examples" / "trainers" / "openrlhf_agent.py"
RECORD = FaultPolicy(on_error="record")
FORGETFUL = (
    "{% for m in messages %}{% if m.role != 'assistant' %}"
    "<|im_start|>{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)


class Model:
    """Replies with tokens that are a function of the prompt."""

    def __init__(self, tokenizer: Any, **fields: Any) -> None:
        self.tokenizer, self.fields = tokenizer, fields

    def reply(self, prompt_ids: Sequence[int], room: int | None) -> Sampled:
        rng = random.Random(str(list(prompt_ids)))
        ids = rng.choices(self.tokenizer.encode("0123456789 ab"), k=rng.randint(1, 6))
        ids = [*ids[: min(room or 7, 7) - 1], self.tokenizer.eos_token_id]
        return Sampled(ids, [-rng.random() for _ in ids], is_complete=True)

    async def asample(self, prompt_ids: Sequence[int], room: int | None = None) -> Sampled:
        reply = self.reply(prompt_ids, room)
        await asyncio.sleep(0)
        return Sampled(
            **{"ids": reply.ids, "logprobs": reply.logprobs, "is_complete": True, **self.fields}
        )


class Engine:
    """Returns what it is told to."""

    def __init__(self, output: Any) -> None:
        self.output = output

    async def generate(self, ids: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        return self.output


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tiny_tokenizer()


def play(executor: AgentExecutor, rows: Any, model: Model, **options: Any) -> list[Any]:
    context = options.pop("context", 4096)
    return experiences(executor, rows, model.tokenizer, model, context, **options)


def reference(row: dict[str, Any], model: Model, limits: Limits) -> Row:
    async def generate(prompt: Prompt) -> Sampled:
        return model.reply(prompt.ids, prompt.room)

    session = RowEnvs().session(row, model.tokenizer, limits=limits)
    (found,) = training_rows(asyncio.run(play_tokens(session, generate)), limits=limits)
    return found


def check_equal(experience: Any, expected: Row) -> None:
    found = row_of_experience(experience)
    for name in ("prompt_ids", "response_ids", "mask", "truncated"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.logprobs == pytest.approx(expected.logprobs)
    assert found.reward == pytest.approx(expected.reward)


class TestAnEpisode:
    @pytest.mark.parametrize("env", [GAME, "game:Mastermind-v0-easy", "test:CountedRoom-v0"])
    def test_an_episode_has_the_row_of_play_tokens(
        self, room: str, tokenizer: Any, env: str
    ) -> None:
        rows, model = env_rows(env, 16, seed=5), Model(tokenizer)
        found = play(
            AgentExecutor(limits=Limits(response_tokens=400)),
            rows,
            model,
            context=900,
            max_tokens=5,
        )
        limits = Limits(turn_tokens=5, context=900, response_tokens=400)
        for (experience,), row in zip(found, rows, strict=True):
            check_equal(experience, reference(row, model, limits))

    @pytest.mark.parametrize(("reward", "score"), [("sum", 6), ("discounted", 2.75), ("last", 3)])
    def test_an_episode_has_one_reward(
        self, room: str, tokenizer: Any, reward: Any, score: float
    ) -> None:
        executor = AgentExecutor(reward=reward, gamma=0.5)
        ((one, two),) = play(executor, env_rows(room, 1), Model(tokenizer), samples=2)
        assert [float(each.rewards[0]) for each in (one, two)] == [score, score]
        assert one.info["turns"].tolist() == [3]
        assert one.info["failed"].tolist() == [0]

    def test_an_episode_never_exceeds_its_limits(self, room: str, tokenizer: Any) -> None:
        (row,), model = env_rows(room, 1), Model(tokenizer)
        first = len(reference(row, model, Limits()).prompt_ids)
        for most in (1, 3, 8, 20):
            ((experience,),) = play(AgentExecutor(), [row], model, context=first + most)
            found = row_of_experience(experience)
            assert 0 < len(found.response_ids) <= most
            assert found.truncated

    def test_an_episode_needs_log_probabilities_only_if_openrlhf_asks_for_them(
        self, room: str, tokenizer: Any
    ) -> None:
        model = Model(tokenizer, logprobs=[])
        ((experience,),) = play(AgentExecutor(), env_rows(room, 1), model, logprobs=None)
        assert experience.rollout_log_probs is None
        assert float(experience.rewards[0]) == 6

    def test_an_episode_has_the_tools_of_its_configuration(self, tokenizer: Any) -> None:
        executor = AgentExecutor(config=["tools=[python]"])
        ((experience,),) = play(executor, env_rows(GAME, 1), Model(tokenizer))
        assert "python" in tokenizer.decode(row_of_experience(experience).prompt_ids)


class TestAFault:
    @pytest.mark.parametrize("fault", ["raise", "reset"])
    def test_a_fault_of_one_environment_of_64_masks_its_episode_only(
        self, room: str, tokenizer: Any, fault: str
    ) -> None:
        rows, model = env_rows(room, 64), Model(tokenizer)
        rows[17]["env_kwargs"] = {"fault": fault}
        found = play(AgentExecutor(policy=RECORD), rows, model)
        (failed,) = found.pop(17)
        assert not failed.action_mask.any()
        assert float(failed.rewards[0]) == 0
        assert failed.info["failed"].tolist() == [1]
        del rows[17]
        for (experience,), row in zip(found, rows, strict=True):
            check_equal(experience, reference(row, model, Limits()))

    def test_a_fault_is_played_again_and_then_raised(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"fault": "raise", "last": 2})
        ((experience,),) = play(AgentExecutor(), [row], Model(tokenizer))
        assert float(experience.rewards[0]) == 6
        row["env_kwargs"] = {"fault": "raise"}
        (error,) = play(AgentExecutor(), [row], Model(tokenizer))
        assert isinstance(error, EpisodeFailedError)
        assert "failed in 3 attempts" in str(error)
        assert "on fire" in str(error)

    def test_a_fault_is_raised_if_asked_to(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"fault": "raise"})
        executor = AgentExecutor(policy=FaultPolicy(on_error="raise"))
        (error,) = play(executor, [row], Model(tokenizer))
        assert isinstance(error, RuntimeError)
        assert str(error) == "the room is on fire"

    @pytest.mark.parametrize(
        "fields",
        [
            {"logprobs": []},
            {"logprobs": [-1.0]},
            {"ids": [], "logprobs": []},
            {"ids": [5], "logprobs": [float("nan")]},
            {"ids": [5] * 9, "logprobs": [-1.0] * 9},
        ],
    )
    def test_a_fault_of_the_engine_masks_the_episode(
        self, room: str, tokenizer: Any, fields: dict[str, Any]
    ) -> None:
        model = Model(tokenizer, **fields)
        ((failed,),) = play(AgentExecutor(policy=RECORD), env_rows(room, 1), model, max_tokens=7)
        assert not failed.action_mask.any()

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ({"outputs": []}, "returned no reply to turn 1"),
            ({"outputs": [{"finish_reason": "abort"}]}, "finish_reason 'abort'"),
        ],
    )
    def test_a_fault_of_the_engine_says_what_it_returned(
        self, room: str, tokenizer: Any, output: dict[str, Any], message: str
    ) -> None:
        outputs = [SimpleNamespace(**one) for one in output["outputs"]]
        params = SimpleNamespace(max_tokens=None, logprobs=1)
        line = openrlhf_layout(env_rows(room, 1)[0])
        engine = Engine(SimpleNamespace(outputs=outputs))
        executor = AgentExecutor(policy=FaultPolicy(on_error="raise"))
        with pytest.raises(ValueError, match=message):
            asyncio.run(
                executor.execute(line["input"], line["label"], params, 900, tokenizer, engine)
            )


class TestARefusal:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"reward": "turns"}, "reward must be"),
            ({"gamma": 2.0}, "gamma in"),
            ({"one_sequence": "split"}, "one_sequence must be"),
            *CONFIGS,
        ],
    )
    def test_a_refusal_of_an_option_comes_before_the_training(
        self, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            AgentExecutor(**options)

    @pytest.mark.parametrize(
        ("label", "images", "message"),
        [
            ("", None, "label must be a row as JSON"),
            ("[1]", None, "label must be a row as JSON"),
            (json.dumps({"env": GAME}), None, "has no seed"),
            (json.dumps({"env": GAME + "y", "seed": 1}), None, "Did you mean"),
            (json.dumps({"env": GAME, "seed": 1}), ["cat.png"], "has images"),
        ],
    )
    def test_a_refusal_of_a_line_says_what_is_wrong(
        self, tokenizer: Any, label: str, images: Any, message: str
    ) -> None:
        params = SimpleNamespace(max_tokens=None, logprobs=1)
        with pytest.raises(gem_core.GemError, match=message):
            asyncio.run(
                AgentExecutor().execute("", label, params, 900, tokenizer, None, images=images)
            )

    def test_a_refusal_of_a_prompt_over_its_limit_names_it(self, room: str, tokenizer: Any) -> None:
        (row,) = env_rows(room, 1, env_kwargs={"words": 300})
        (error,) = play(AgentExecutor(), [row], Model(tokenizer), context=256)
        assert isinstance(error, PromptTooLongError)
        assert "context is 256" in str(error)

    def test_a_refusal_of_a_template_that_forgets_names_the_turn(self, room: str) -> None:
        model = Model(make_tiny_tokenizer(chat_template=FORGETFUL))
        (error,) = play(AgentExecutor(), env_rows(room, 1), model)
        assert isinstance(error, SequenceError)
        assert "turn 2" in str(error)
        ((last,),) = play(AgentExecutor(one_sequence="last"), env_rows(room, 1), model)
        assert float(last.rewards[0]) == 6


class TestTheExample:
    def test_the_example_is_loaded_by_its_path(self, tokenizer: Any) -> None:
        executor = load(str(EXAMPLE))
        assert isinstance(executor, AgentExecutor)
        rows = env_rows("game:Mastermind-v0-easy", 2, env_kwargs={"max_turns": 2})
        for group in play(executor, rows, Model(tokenizer)):
            assert "python" in tokenizer.decode(row_of_experience(group[0]).prompt_ids)
