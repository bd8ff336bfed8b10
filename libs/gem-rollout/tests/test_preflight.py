"""The checks before a run, with agents that are not ours."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gem_core import Action, BaseAgent, BaseEnv, Info, Observation, Step
from gem_core.agent import Agent, Preflight, RandomAgent
from gem_core.optional import preflight
from gem_rollout import Component
from gem_rollout.commands.preflight import QUESTION, PreflightError, check_agents
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.agent import TokenAgent
from gem_rollout.tokens.limits import Limits
from gem_rollout.tokens.sampler import Request, Sampled


class Speech(BaseEnv):
    """Opens with a text of some words."""

    resets = 0

    def __init__(self, words: int) -> None:
        self._words = words

    def start(self) -> tuple[Observation, Info]:
        Speech.resets += 1
        return "word " * self._words, {}

    def step(self, action: Action) -> Step:
        raise AssertionError("no check takes a step")


def env(words: int) -> Component:
    return Component(lambda: Speech(words))


class Model(BaseAgent):
    """A model whose tokens are words; ``act`` is never called."""

    seen: list[str]

    def __init__(self, context: int | None = None, error: str = "", problem: str = "") -> None:
        self._context, self._error, self._problem = context, error, problem

    async def preflight(self, observation: Any, info: Info) -> Preflight:
        await asyncio.sleep(0)
        Model.seen.append(observation)
        if self._error:
            raise ValueError(self._error)
        return Preflight(len(observation.split()), 2, self._context, self._problem)

    def act(self, observation: Observation, info: Info) -> Action:
        raise AssertionError("no check is an episode")


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    Model.seen, Speech.resets = [], 0


def check(agents: dict[str, Callable[[], Agent]], **words: int) -> list[str]:
    envs = {name: env(count) for name, count in words.items()}
    first = {(name, agent): 0 for name in envs for agent in agents}
    return check_agents(agents, envs, first)


@pytest.mark.parametrize("found", [None, True, (1, 1, 1)])
def test_a_preflight_that_finds_something_else_is_an_error(found: Any) -> None:
    class Odd(RandomAgent):
        def preflight(self, observation: Any, info: Info) -> Any:
            return found

    with pytest.raises(PreflightError, match=r"Odd\.preflight must return a Preflight; got"):
        check({"a": Odd}, short=1)


def test_an_agent_without_a_preflight_is_not_checked() -> None:
    assert check({"random": RandomAgent}, a=5) == []
    assert asyncio.run(preflight(RandomAgent(), "x", {})) == Preflight()


def test_each_agent_is_asked_once_and_all_problems_are_told_together() -> None:
    agents: dict[str, Callable[[], Agent]] = {
        "good": Model,
        "bad": lambda: Model(error="The key is wrong."),
        "worse": lambda: Model(error="The name is wrong."),
    }
    with pytest.raises(PreflightError) as caught:
        check(agents, a=5, b=5)
    assert "agent.bad: ValueError: The key is wrong." in str(caught.value)
    assert "agent.worse: ValueError: The name is wrong." in str(caught.value)
    assert "preflight=false" in str(caught.value)
    assert (Model.seen, Speech.resets) == ([QUESTION] * 3, 0)


def test_a_model_that_may_answer_later_does_not_prevent_the_run() -> None:
    (line,) = check({"busy": lambda: Model(problem="too many requests")}, a=5)
    assert line.startswith("agent.busy: ")
    assert line.endswith("too many requests")


def test_first_prompts_are_compared_with_the_context() -> None:
    with pytest.raises(PreflightError) as caught:
        check({"small": lambda: Model(context=50)}, short=3, fits=48, long=49, longer=60)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0].split()[-1] for line in lines[1:-1]] == ["long", "longer"]
    assert "49 tokens and a reply needs room for 2, but the model's context has 50" in lines[1]
    assert check({"small": lambda: Model(context=50)}, short=3, fits=48) == []


def test_a_prompt_that_must_fit_is_not_sent() -> None:
    check({"large": lambda: Model(context=10_000)}, a=5, b=500)
    assert Model.seen == [QUESTION]


def test_agents_that_have_nothing_to_play_are_not_checked() -> None:
    agents = {"done": lambda: Model(error="The key is wrong.")}
    assert check_agents(agents, {"a": env(5)}, {}) == []
    assert Model.seen == []


def test_an_environment_that_fails_is_left_to_the_run() -> None:
    class Broken(Speech):
        def start(self) -> tuple[Observation, Info]:
            raise ValueError("It fails.")

    envs = {"broken": Component(lambda: Broken(1))}
    assert check_agents({"m": lambda: Model(context=5)}, envs, {("broken", "m"): 0}) == []


class Sampler:
    """A model in this process, which nobody may ask."""

    context = 100
    vision = None
    tokenizer = make_tiny_tokenizer()

    async def submit(self, request: Request) -> Sampled:
        raise AssertionError("no check samples")

    def text_of(self, sampled: Sampled) -> str:
        raise AssertionError("no check samples")


def tiny() -> TokenAgent:
    return TokenAgent(Sampler(), name="tiny", limits=Limits(context=100), system="Be brief.")


def test_an_agent_of_tokens_measures_its_first_prompt_and_samples_nothing() -> None:
    agent = tiny()
    found = agent.preflight("Guess.", {})
    rendered = Sampler.tokenizer.apply_chat_template(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Guess."}],
        add_generation_prompt=True,
        tokenize=False,
    )
    length = len(Sampler.tokenizer.encode(rendered))
    assert found == Preflight(length, context=100)
    assert agent.preflight("Guess.", {}) == found
    with pytest.raises(PreflightError, match=r"agent.tiny in long: its first prompt has"):
        check({"tiny": tiny}, short=1, long=200)
