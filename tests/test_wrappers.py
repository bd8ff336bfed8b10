"""Wrappers: their order, what they forward, time limits, counters."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem_core
from gem_core import Action, BaseEnv, EnvSpec, Info, Observation, Step, Wrapper
from gem_core.errors import ConfigError, EpisodeEndedError, UnknownKwargError, WrapperOrderError
from gem_core.wrappers import EpisodeTracking, HistoryWrapper, TimeLimit, ToolWrapper

GAME = "game:GuessTheNumber-v0-easy"


class Countdown(BaseEnv):
    """Ends after ``turns`` steps, with a reward of 2 for each."""

    def __init__(self, *, turns: int = 5) -> None:
        self.turns = turns

    def start(self, *, idx: int = 0) -> tuple[Observation, Info]:
        self.left, self.idx = self.turns, idx
        return f"{self.left} left", {"idx": idx}

    def step(self, action: Action) -> Step:
        self.left -= 1
        return Step(f"{self.left} left", 2.0, self.left == 0, False, {"own": True})

    def cheer(self) -> str:
        return f"only {self.left}!"


def limited(turns: int, max_steps: int) -> Any:
    return TimeLimit(Countdown(turns=turns), max_steps=max_steps)


def wrapped(*wrappers: Any) -> Any:
    env: Any = Countdown()
    for wrapper in wrappers:
        env = wrapper(env)
    return env


class TestOrder:
    @pytest.mark.parametrize("names", list(permutations(["concat", "episode_tracking", "tools"])))
    def test_only_one_order_works_and_the_message_tells_which(self, names: tuple[str, ...]) -> None:
        if names == ("tools", "concat", "episode_tracking"):
            gem_core.make(GAME, wrappers=names)
            return
        with pytest.raises(WrapperOrderError, match="order: tools, then history, then tracking"):
            gem_core.make(GAME, wrappers=names)

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_time_limit_may_stand_anywhere(self, place: int) -> None:
        names = ["concat", "episode_tracking"]
        names.insert(place, "time_limit")
        env = gem_core.make(GAME, tools=[], wrappers=names)
        assert env.reset(seed=1)[1]["step_counter"] == 0

    def test_a_wrapper_between_does_not_hide_a_wrong_order(self) -> None:
        with pytest.raises(WrapperOrderError, match="ToolWrapper must be inside EpisodeTracking"):
            wrapped(EpisodeTracking, Wrapper, Wrapper, ToolWrapper)

    def test_wrapper_order_errors_are_configuration_errors(self) -> None:
        with pytest.raises(ConfigError):
            wrapped(HistoryWrapper, ToolWrapper)


class TestForwarding:
    def test_attributes_of_the_environment_are_live(self) -> None:
        env = wrapped(Wrapper, HistoryWrapper, EpisodeTracking)
        env.reset()
        assert (env.left, env.cheer()) == (5, "only 5!")
        env.step("")
        assert (env.left, env.cheer()) == (4, "only 4!")
        env.reset(idx=3)
        assert (env.left, env.idx) == (5, 3)

    def test_an_attribute_that_no_layer_has_is_reported_for_the_environment(self) -> None:
        with pytest.raises(AttributeError, match="'Countdown' object has no attribute 'nothing'"):
            _ = wrapped(HistoryWrapper, EpisodeTracking).nothing
        assert not hasattr(wrapped(Wrapper), "__len__")

    def test_unwrapped_is_the_innermost(self) -> None:
        env = Countdown()
        assert env.unwrapped is env
        assert EpisodeTracking(Wrapper(env)).unwrapped is env  # type: ignore[arg-type]

    def test_a_wrapper_without_changes_changes_nothing(self) -> None:
        plain, env = Countdown(), wrapped(Wrapper)
        assert env.reset(seed=1, idx=2) == plain.reset(seed=1, idx=2)
        assert env.step("a") == plain.step("a")
        assert env.spec is plain.spec is None
        assert env.blocking is plain.blocking is False

    def test_options_reach_the_environment_and_wrong_ones_raise(self) -> None:
        env = wrapped(
            ToolWrapper, HistoryWrapper, EpisodeTracking, lambda e: TimeLimit(e, max_steps=3)
        )
        assert env.reset(idx=7)[1]["idx"] == 7
        with pytest.raises(UnknownKwargError, match="'index'"):
            env.reset(index=7)

    def test_an_entry_point_may_return_a_wrapped_environment(self) -> None:
        spec = EnvSpec(id="test:Limited", entry_point=lambda: limited(5, 3))
        env = gem_core.make(spec, seed=1)
        env.reset()
        assert env.spec is spec


class TestTimeLimit:
    @pytest.mark.slow
    @given(turns=st.integers(1, 8), max_steps=st.integers(1, 8))
    def test_the_episode_ends_at_its_own_end_or_at_the_limit(
        self, turns: int, max_steps: int
    ) -> None:
        env = limited(turns, max_steps)
        for _ in range(2):
            env.reset()
            last = min(turns, max_steps)
            steps = [env.step("") for _ in range(last)]
            assert not any(step.terminated or step.truncated for step in steps[:-1])
            assert steps[-1].terminated is (turns <= max_steps)
            assert steps[-1].truncated is (turns > max_steps)
            with pytest.raises(EpisodeEndedError, match=r"reset\(\)"):
                env.step("")

    @pytest.mark.parametrize("max_steps", [0, -1])
    def test_a_limit_that_is_not_positive_is_refused(self, max_steps: int) -> None:
        with pytest.raises(ConfigError, match="at least 1"):
            limited(5, max_steps)

    def test_a_fork_has_as_many_steps_left(self) -> None:
        env = limited(9, 3)
        env.reset()
        env.step("")
        restored = limited(9, 3)
        restored.restore(env.snapshot())
        for twin in (env.fork(), restored, env):
            assert [twin.step("").truncated for _ in range(2)] == [False, True]

    def test_a_spawned_one_has_all_its_steps(self) -> None:
        env = limited(9, 2)
        env.reset()
        env.step("")
        spawned = env.spawn()
        spawned.reset()
        assert [spawned.step("").truncated for _ in range(2)] == [False, True]

    def test_make_takes_the_limit(self) -> None:
        env = gem_core.make(GAME, wrappers=[{"id": "time_limit", "max_steps": 1}])
        env.reset(seed=1)
        step = env.step("\\boxed{1}")
        assert step.truncated or step.terminated


class TestEpisodeTracking:
    def test_steps_and_rewards_are_counted(self) -> None:
        env = wrapped(EpisodeTracking)
        assert env.reset(seed=1, idx=2)[1] == {
            "idx": 2,
            "step_counter": 0,
            "cumulative_rewards": 0.0,
            "prev_ep_step_counter": 0,
            "prev_ep_cumulative_rewards": 0.0,
        }
        steps = [env.step("") for _ in range(3)]
        assert [step.info["step_counter"] for step in steps] == [1, 2, 3]
        assert [step.info["cumulative_rewards"] for step in steps] == [2.0, 4.0, 6.0]
        assert steps[0].info["own"] is True
        assert (env.step_counter, env.cumulative_rewards) == (3, 6.0)

    def test_reset_tells_of_the_last_episode(self) -> None:
        env = wrapped(EpisodeTracking)
        env.reset()
        for _ in range(5):
            env.step("")
        info = env.reset()[1]
        assert (info["prev_ep_step_counter"], info["prev_ep_cumulative_rewards"]) == (5, 10.0)
        assert env.reset()[1]["prev_ep_step_counter"] == 0

    def test_the_counters_of_a_fork_go_on_from_those_of_the_original(self) -> None:
        env = wrapped(EpisodeTracking)
        env.reset()
        env.step("")
        fork = env.fork()
        env.step("")
        assert fork.step("").info["cumulative_rewards"] == 4.0
        assert fork.step_counter == 2

    def test_the_counters_of_a_spawned_environment_start_at_0(self) -> None:
        env = wrapped(EpisodeTracking)
        env.reset()
        env.step("")
        assert env.spawn().reset()[1]["prev_ep_step_counter"] == 0


class Limited(BaseEnv):
    limit = 3

    def start(self) -> tuple[Observation, Info]:
        return "", {}

    def step(self, action: Action) -> Step:
        return Step("", 0.0, True, False, {})


class TestAttributes:
    def stack(self) -> Any:
        return gem_core.make(
            EnvSpec(id="test:Limited", entry_point=Limited), wrappers=["concat", "episode_tracking"]
        )

    def test_set_attr_writes_where_the_attribute_is(self) -> None:
        env = self.stack()
        env.set_attr("limit", 2)
        assert env.limit == env.unwrapped.limit == 2
        env.set_attr("include_action", True)
        assert env.env.include_action is True
        assert not hasattr(env.unwrapped, "include_action")

    def test_set_attr_rejects_what_no_layer_has(self) -> None:
        with pytest.raises(AttributeError, match="'limits'"):
            self.stack().set_attr("limits", 2)

    def test_a_missing_private_attribute_is_the_wrappers_own(self) -> None:
        with pytest.raises(AttributeError, match=r"EpisodeTracking.* no attribute '_limit'"):
            _ = self.stack()._limit


@pytest.mark.parametrize(
    "wrappers",
    [
        ["concat", "concat"],
        ["concat", "concat_chat"],
        ["concat_with_action", {"id": "concat", "max_history_length": 2}],
        [HistoryWrapper, "concat"],
        ["episode_tracking", "episode_tracking"],
        ["concat", "time_limit", "concat_chat_on_reset"],
    ],
    ids=str,
)
def test_two_wrappers_of_a_group_are_refused_by_their_names(wrappers: list[Any]) -> None:
    message = r"There are two .*(concat|episode_tracking).* Keep one of them"
    with pytest.raises(WrapperOrderError, match=message):
        gem_core.make(GAME, wrappers=wrappers)


def test_two_wrappers_of_a_group_are_refused_however_they_are_stacked() -> None:
    with pytest.raises(WrapperOrderError, match="two history wrappers"):
        HistoryWrapper(TimeLimit(HistoryWrapper(Countdown()), max_steps=3))


def test_wrappers_without_a_group_may_be_there_twice() -> None:
    env = TimeLimit(limited(9, 5), max_steps=2)
    env.reset()
    assert [env.step("x").truncated for _ in range(2)] == [False, True]
