"""Mixtures: several environments as one."""

from collections import Counter
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import Action, BaseEnv, Info, Observation, Step
from gem_core.errors import ConfigError, UnknownKwargError
from gem_core.mixture import Component, MixtureEnv

EXAMPLES = settings(max_examples=300 if thorough() else 25)


class Task(BaseEnv):
    """Says its name."""

    made: ClassVar[Counter[str]] = Counter()
    closed: ClassVar[Counter[str]] = Counter()

    def __init__(self, name: str, *, blocking: bool = False) -> None:
        self.name, self.blocking = name, blocking
        Task.made[name] += 1

    def start(self, *, idx: int = 0) -> tuple[Observation, Info]:
        return f"{self.name} {idx}", {"luck": self.rng.random()}

    def step(self, action: Action) -> Step:
        return Step(f"{self.name} {action}", self.rng.random(), False, False, {"own": 1})

    def sample_random_action(self) -> Action:
        return f"{self.name} {self.action_rng.random()}"

    def close(self) -> None:
        Task.closed[self.name] += 1


def component(name: str, weight: float = 1.0, **kwargs: Any) -> Component:
    return Component(lambda: Task(name, **kwargs), weight)


def drawn(env: MixtureEnv, episodes: int) -> list[str]:
    return [env.reset()[1]["component"] for _ in range(episodes)]


def test_every_reset_and_step_names_the_component() -> None:
    env = MixtureEnv({"a": component("a"), "b": component("b")})
    seen = set()
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        name = info["component"]
        assert observation == f"{name} 0"
        step = env.step("x")
        assert step.observation == f"{name} x"
        assert step.info == {"own": 1, "component": name}
        assert env.sample_random_action().startswith(name)
        seen.add(name)
    assert seen == {"a", "b"}


@pytest.mark.slow
@EXAMPLES
@given(st.integers(0, 2**40))
def test_weights_are_shares_of_the_episodes(seed: int) -> None:
    env = MixtureEnv(
        {"never": component("n", 0), "rare": component("r"), "often": component("o", 9)}
    )
    env.reset(seed=seed)
    counts = Counter(drawn(env, 300))
    assert counts["never"] == 0
    assert 0 < counts["rare"] < 100 < counts["often"]


def test_a_seed_repeats_the_draws_and_the_episodes() -> None:
    one, two = (MixtureEnv({"a": component("a"), "b": component("b")}) for _ in range(2))
    drawn(two, 5)
    assert one.reset(seed=4) == two.reset(seed=4)
    assert one.step("x") == two.step("x")
    assert drawn(one, 10) == drawn(two, 10)


def test_a_component_is_made_when_it_is_first_drawn_and_only_once() -> None:
    Task.made.clear()
    env = MixtureEnv({"a": component("a"), "never": component("never", 0)})
    assert not Task.made
    drawn(env, 5)
    assert Task.made == {"a": 1}


def test_options_reach_the_component() -> None:
    env = MixtureEnv({"a": component("a")})
    assert env.reset(idx=7)[0] == "a 7"
    with pytest.raises(UnknownKwargError, match="reset of Task"):
        env.reset(index=7)


def test_closing_closes_what_was_drawn() -> None:
    Task.closed.clear()
    with MixtureEnv({"a": component("a"), "never": component("never", 0)}) as env:
        env.reset()
    assert Task.closed == {"a": 1}


def test_a_mixture_is_blocking_if_a_component_that_was_drawn_is() -> None:
    env = MixtureEnv({"a": component("a", blocking=True)})
    env.reset()
    assert env.blocking


def test_a_fork_of_a_subclass_is_of_the_subclass_and_shares_no_environment() -> None:
    class Curriculum(MixtureEnv):
        level = 0

    env = Curriculum({"a": component("a"), "b": component("b")})
    env.reset(seed=1)
    env.level = 3
    for twin in (env.fork(), env.spawn()):
        assert type(twin) is Curriculum
        assert twin.level == 3
    fork = env.fork()
    assert fork.env is not env.env
    expected = env.step("x")
    assert fork.step("x") == expected
    assert drawn(fork, 8) == drawn(env, 8)


@pytest.mark.parametrize(
    "weights", [[], [0.0], [0.0, 0.0], [1.0, -1.0], [float("nan")], [float("inf"), 1.0]]
)
def test_weights_that_cannot_be_drawn_from_are_refused(weights: list[float]) -> None:
    components = {str(i): component(str(i), weight) for i, weight in enumerate(weights)}
    with pytest.raises(ConfigError, match="weights of 0 or more"):
        MixtureEnv(components)


def test_real_games_mix_and_may_be_wrapped() -> None:
    components = {
        level: Component(
            lambda level=level: gem_core.make(
                f"game:GuessTheNumber-v0-{level}", wrappers=["concat"]
            )  # type: ignore[misc]
        )
        for level in ("easy", "hard")
    }
    env = MixtureEnv(components)
    for seed in range(6):
        _, info = env.reset(seed=seed)
        largest = {"easy": "10", "hard": "50"}[info["component"]]
        step = env.step(env.sample_random_action())
        assert f"to {largest}, both included" in step.observation
