"""Faults and stragglers: policies, deadlines, budgets, and where errors say that they came from."""

import asyncio
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gem_core
import gem_workers
from gem_core import (
    Action,
    AsyncEnv,
    BaseAgent,
    BaseEnv,
    BaseTool,
    Env,
    EnvSpec,
    Info,
    Observation,
    Step,
    ToolCall,
    ToolResult,
)
from gem_core.agent import Generation, Reply, ScriptedAgent, SilentAgent
from gem_core.errors import ConfigError, ModelUnavailableError, SandboxError
from gem_core.faults import boundary, error_record
from gem_core.wrappers.tools import ToolWrapper
from gem_rollout import Budget, Component, FaultPolicy, Trajectory, collect
from gem_rollout.tokens.limits import LimitReachedError
from gem_tasks.env import Grade, TaskEnv
from gem_workers.sandbox import Program

pytestmark = [
    pytest.mark.filterwarnings("ignore:The sandbox 'process':RuntimeWarning"),
]


class Three(BaseEnv):
    """Three turns; counts what is made and closed."""

    made = 0
    closed = 0

    def __init__(self) -> None:
        type(self).made += 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.made = cls.closed = 0

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return "start", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(f"{action}{self.turn}", 1.0, self.turn == 3, False, {})

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture(autouse=True)
def _count_anew() -> Iterator[None]:
    for kind in (Three, *Three.__subclasses__()):
        kind.made = kind.closed = 0
    threads = set(threading.enumerate())
    yield
    assert not set(threading.enumerate()) - threads


def flaky(faults: int) -> Callable[[], BaseAgent]:
    """Return what makes agents of which the first ones fail in their second turn."""
    numbers = itertools.count()

    class Flaky(BaseAgent):
        def __init__(self) -> None:
            self.number = next(numbers)
            self.turn = 0

        def reset(self, env: Env) -> None:
            self.turn = 0

        def act(self, observation: Observation, info: Info) -> Action:
            self.turn += 1
            if self.number < faults and self.turn == 2:
                raise ConnectionError(f"agent {self.number}")
            return "a"

    return Flaky


class TestRetry:
    def test_a_retry_plays_an_episode_with_a_new_environment_and_agent_and_keeps_the_errors(
        self,
    ) -> None:
        run = collect(Three, flaky(2), episodes=4, policy=FaultPolicy(on_error="retry"))
        first, *others = run
        assert first.error is None
        assert (first.attempts, len(first.turns)) == (3, 3)
        assert [failure["message"] for failure in first.failures] == ["agent 0", "agent 1"]
        assert all(one.attempts == 1 and not one.failures for one in others)
        assert Three.made == Three.closed == 3
        counts = run.report.envs["Three"]
        assert (counts.episodes, counts.retries, dict(counts.errors)) == (4, 2, {})
        assert counts.turns == 4 * 3 + 2  # those of the failed attempts were played too

    def test_the_last_retry_records_its_error(self) -> None:
        policy = FaultPolicy(on_error="retry", retries=2)
        run = collect(Three, flaky(99), episodes=2, policy=policy)
        for trajectory in run:
            assert trajectory.error is not None
            assert trajectory.attempts == 3
            assert len(trajectory.failures) == 2
            assert len(trajectory.turns) == 1
        assert run.report.envs["Three"].errors == {"agent": 2}

    def test_a_retry_goes_on_if_its_environment_cannot_be_made_once(self) -> None:
        numbers = itertools.count()

        def make_env() -> Env:
            if next(numbers) == 1:
                raise OSError("no room")
            return Three()

        policy = FaultPolicy(on_error="retry")
        (first, second) = collect(make_env, flaky(1), episodes=2, policy=policy)
        assert first.error is second.error is None
        assert [(one["boundary"], one["type"]) for one in first.failures] == [
            ("agent", "ConnectionError"),
            ("env", "OSError"),
        ]


class TestRecord:
    def test_an_environment_that_failed_is_replaced_and_the_agent_is_kept(self) -> None:
        class Broken(Three):
            def step(self, action: Action) -> Step:
                if type(self).made == 1:
                    raise ValueError("broken")
                return super().step(action)

        agents: list[BaseAgent] = []

        def make_agent() -> BaseAgent:
            agents.append(SilentAgent())
            return agents[-1]

        one, two, three = collect(Broken, make_agent, episodes=3)
        assert one.error is not None
        assert two.error is three.error is None
        assert Broken.made == Broken.closed == 2
        assert len(agents) == 1

    def test_an_environment_that_cannot_be_made_later_is_a_recorded_error(self) -> None:
        numbers = itertools.count()

        class Bad(Three):
            def step(self, action: Action) -> Step:
                raise ValueError("broken")

        def make_env() -> Env:
            if next(numbers) == 1:
                raise OSError("no room")
            return Bad()

        spec = EnvSpec(id="test:Bad-v0", entry_point=make_env, return_range=(0.0, 3.0))
        first, second, third = collect(lambda: gem_core.make(spec), SilentAgent, episodes=3)
        found = [one.error["type"] for one in (first, second, third) if one.error]
        assert found == ["ValueError", "OSError", "ValueError"]
        assert second.env_id == "test:Bad-v0"
        assert second.success is False

    def test_a_reward_that_is_no_finite_number_is_a_fault_of_the_environment(
        self, subtests: pytest.Subtests
    ) -> None:
        for reward in (math.nan, math.inf, None, "1", [1.0], np.zeros(2)):
            with subtests.test(reward=reward):

                class Pays(Three):
                    def step(self, action: Action) -> Step:
                        return super().step(action)._replace(reward=reward)  # noqa: B023

                (trajectory,) = collect(Pays, SilentAgent, episodes=1)
                error = trajectory.error
                assert error is not None
                assert (error["type"], error["boundary"]) == ("RewardError", "env")
                assert "Pays.step returned" in error["message"]
                assert type(reward).__name__ in error["message"]
                assert not trajectory.turns

    def test_numbers_of_any_kind_are_rewards(self) -> None:
        for reward in (1, True, np.float32(1), np.int64(1), Fraction(1)):

            class Pays(Three):
                def step(self, action: Action) -> Step:
                    return super().step(action)._replace(reward=reward)  # noqa: B023

            (trajectory,) = collect(Pays, SilentAgent, episodes=1)
            assert [(type(turn.reward), turn.reward) for turn in trajectory.turns] == [
                (float, 1)
            ] * 3

    def test_an_exit_in_an_environment_is_recorded_as_an_error(self) -> None:
        class Exits(Three):
            def step(self, action: Action) -> Step:
                raise SystemExit(3)

        (trajectory,) = collect(Exits, SilentAgent, episodes=1)
        assert trajectory.error is not None
        assert (trajectory.error["type"], trajectory.error["boundary"]) == ("SystemExit", "env")


class TestRaise:
    @pytest.mark.parametrize("blocking", [False, True])
    def test_on_error_raise_ends_the_run_after_the_ended_episodes(self, *, blocking: bool) -> None:
        class Fails(Three):
            def step(self, action: Action) -> Step:
                if action == "fail":
                    raise ValueError("broken")
                return super().step(action)

        Fails.blocking = blocking
        numbers = itertools.count()

        class Fourth(BaseAgent):
            def reset(self, env: Env) -> None:
                self.number = next(numbers)

            def act(self, observation: Observation, info: Info) -> Action:
                return "fail" if self.number == 3 else "a"

        run = collect(
            Fails, Fourth, episodes=99, concurrency=1, policy=FaultPolicy(on_error="raise")
        )
        found: list[Trajectory] = []
        with pytest.raises(ValueError, match="broken") as caught:
            found.extend(run)
        assert [one.index for one in found] == [0, 1, 2, 3]
        assert "In episode 3 of Fails" in caught.value.__notes__[0]
        assert Fails.made == Fails.closed
        assert run.report.ended_by == "error"
        assert run.report.envs["Fails"].episodes == 4

    def test_on_error_raise_yields_the_failed_trajectory_first(self) -> None:
        run = collect(Three, flaky(1), episodes=9, policy=FaultPolicy(on_error="raise"))
        trajectory = next(run)
        assert trajectory.error is not None
        with pytest.raises(ConnectionError, match="agent 0"):
            next(run)


class Sleepy(BaseAgent):
    """Sleeps for ever in its second turn of an even episode."""

    episode = -1

    def reset(self, env: Env) -> None:
        Sleepy.episode += 1
        self.slow = Sleepy.episode % 2 == 0
        self.turn = 0

    async def act(self, observation: Observation, info: Info) -> Action:
        self.turn += 1
        if self.slow and self.turn == 2:
            await self.sleep()
        return "a"

    async def sleep(self) -> None:
        await asyncio.Event().wait()


class Stubborn(Sleepy):
    """Answers in spite of being cancelled."""

    async def sleep(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return


class SleepyEnv(AsyncEnv):
    """Sleeps for ever in its second step."""

    async def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return "", {}

    async def step(self, action: Action) -> Step:
        self.turn += 1
        if self.turn == 2:
            await asyncio.Event().wait()
        return Step("", 1.0, False, False, {})


class TestADeadline:
    @pytest.fixture(autouse=True)
    def _even(self) -> None:
        Sleepy.episode = -1

    @pytest.mark.slow
    @pytest.mark.parametrize("limit", ["turn_deadline", "episode_deadline"])
    @pytest.mark.parametrize("agent", [Sleepy, Stubborn])
    @pytest.mark.parametrize("blocking", [False, True])
    def test_a_deadline_ends_the_episode_of_an_agent_that_is_late(
        self, limit: str, agent: type[Sleepy], *, blocking: bool
    ) -> None:
        def make_env() -> Env:
            env = Three()
            env.blocking = blocking
            return env

        policy = FaultPolicy(**{limit: 0.6})
        run = collect(make_env, agent, episodes=4, concurrency=2, policy=policy)
        found = sorted(run, key=lambda one: one.error is not None)
        assert [one.error is None for one in found] == [True, True, False, False]
        for late in found[2:]:
            assert late.error is not None
            assert (late.error["type"], late.error["boundary"]) == ("DeadlineError", "agent")
            assert limit in late.error["message"]
            assert [turn.action for turn in late.turns] == ["a"]
        assert run.report.envs["Three"].stragglers == 2
        assert run.report.envs["Three"].abandoned == 0

    @pytest.mark.slow
    def test_a_deadline_ends_the_episode_of_an_environment_that_is_late(self) -> None:
        policy = FaultPolicy(turn_deadline=0.5)
        run = collect(SleepyEnv, SilentAgent, episodes=2, policy=policy)
        for late in run:
            assert late.error is not None
            assert (late.error["type"], late.error["boundary"]) == ("DeadlineError", "env")
            assert "environment did not finish turn 2" in late.error["message"]
            assert len(late.turns) == 1
        assert run.report.envs["SleepyEnv"].stragglers == 2

    @pytest.mark.slow
    def test_the_deadline_of_an_episode_holds_for_its_reset(self) -> None:
        class Slow(SleepyEnv):
            async def start(self) -> tuple[Observation, Info]:
                await asyncio.Event().wait()
                return "", {}

        (late,) = collect(
            Slow, SilentAgent, episodes=1, policy=FaultPolicy(turn_deadline=5, episode_deadline=0.1)
        )
        assert late.error is not None
        assert "finish its reset within the 0.1 seconds" in late.error["message"]

    @pytest.mark.slow
    def test_a_missed_deadline_is_noticed_after_a_step_that_cannot_be_interrupted(self) -> None:
        class Slow(Three):
            def step(self, action: Action) -> Step:
                threading.Event().wait(1)
                return super().step(action)

        (late,) = collect(Slow, SilentAgent, episodes=1, policy=FaultPolicy(turn_deadline=0.3))
        assert late.error is not None
        assert (late.error["type"], late.error["boundary"]) == ("DeadlineError", "env")
        assert len(late.turns) == 1

    def test_a_timeout_of_the_agent_itself_is_no_missed_deadline(self) -> None:
        class TimesOut(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Action:
                raise TimeoutError("the endpoint")

        run = collect(Three, TimesOut, episodes=1, policy=FaultPolicy(turn_deadline=30))
        (trajectory,) = run
        assert trajectory.error is not None
        assert trajectory.error["type"] == "TimeoutError"
        assert run.report.total.stragglers == 0

    @pytest.mark.slow
    def test_an_episode_that_missed_a_deadline_can_be_retried(self) -> None:
        policy = FaultPolicy(on_error="retry", turn_deadline=0.6)
        (trajectory,) = collect(Three, Sleepy, episodes=1, policy=policy)
        assert trajectory.error is None
        assert [failure["type"] for failure in trajectory.failures] == ["DeadlineError"]

    @pytest.mark.slow
    @pytest.mark.parametrize("limit", ["turn_deadline", "episode_deadline"])
    def test_a_deadline_abandons_a_thread_that_does_not_return(self, limit: str) -> None:
        released, closed = threading.Event(), threading.Event()

        class Hangs(Three):
            blocking = True

            def step(self, action: Action) -> Step:
                if type(self).made == 1 and self.turn == 1:
                    released.wait(30)
                return super().step(action)

            def close(self) -> None:
                super().close()
                if released.is_set():
                    closed.set()

        try:
            policy = FaultPolicy(**{limit: 1.0})
            run = collect(Hangs, SilentAgent, episodes=3, concurrency=1, policy=policy)
            first, second, third = run
            assert second.error is third.error is None
            assert first.error is not None
            assert (first.error["type"], first.error["boundary"]) == ("DeadlineError", "env")
            assert len(first.turns) == 1
            counts = run.report.envs["Hangs"]
            assert (counts.abandoned, counts.stragglers) == (1, 1)
            # The run is over, and the environment is still in its step: it is not closed yet.
            assert (Hangs.made, Hangs.closed) == (2, 1)
        finally:
            released.set()
        assert closed.wait(30)
        assert Hangs.closed == 2
        for thread in threading.enumerate():
            if thread.name.startswith("gem-rollout"):
                thread.join(30)
        assert len(first.turns) == 1


class TestABudget:
    def test_a_budget_of_episodes_lets_no_more_begin(self) -> None:
        run = collect(Three, SilentAgent, episodes=99, budget=Budget(episodes=7), concurrency=3)
        assert len(list(run)) == 7
        assert (run.report.ended_by, run.report.begun) == ("episodes", 7)

    def test_a_budget_of_turns_ends_the_run_after_the_episodes_in_flight(self) -> None:
        class Waits(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Action:
                await asyncio.sleep(0)
                return "a"

        run = collect(Three, Waits, episodes=999, budget=Budget(turns=30), concurrency=4)
        found = list(run)
        assert all(len(one.turns) == 3 and one.error is None for one in found)
        assert len(found) == 10
        assert run.report.ended_by == "turns"

    @pytest.mark.parametrize(
        ("budget", "episodes"),
        [(Budget(tokens=100), 2), (Budget(cost=4.5), 3), (Budget(cost=0.0), 0)],
    )
    def test_a_budget_counts_tokens_and_cost(self, budget: Budget, episodes: int) -> None:
        class Costly(BaseAgent):
            def act(self, observation: Observation, info: Info) -> Reply:
                return Reply("a", Generation(prompt_tokens=10, token_ids=[1, 2, 3], cost=0.5))

        run = collect(Three, Costly, episodes=99, budget=budget)
        assert len(list(run)) == episodes
        total = run.report.total
        assert total.tokens == episodes * 39
        assert total.cost == episodes * 1.5

    @pytest.mark.parametrize("limit", [100, 1000, 20_000])
    def test_a_budget_is_reserved_by_the_episodes_in_flight(self, limit: int) -> None:
        """Without, all 64 would begin, and use 64 * 39 tokens or more."""
        used: list[int] = []

        class Waits(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Reply:
                await asyncio.sleep(0)
                used.append(13)
                return Reply("a", Generation(prompt_tokens=10, completion_tokens=3))

        run = collect(Three, Waits, episodes=999, budget=Budget(tokens=limit), concurrency=64)
        assert len(list(run)) == limit // 39
        assert (run.report.ended_by, sum(used)) == ("tokens", limit // 39 * 39)

    def test_a_budget_is_exceeded_by_no_more_than_what_was_in_flight(self) -> None:
        """The later turns have a hundred times as many tokens as the first ones."""
        turns = itertools.count()

        class Grows(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Reply:
                await asyncio.sleep(0)
                return Reply("a", Generation(prompt_tokens=1 if next(turns) < 150 else 100))

        run = collect(Three, Grows, episodes=999, budget=Budget(tokens=1000), concurrency=8)
        assert all(len(one.turns) == 3 for one in run)
        assert run.report.ended_by == "tokens"
        assert 1000 <= run.report.total.tokens <= 1000 + 8 * 300

    def test_episodes_that_end_first_do_not_stand_for_the_long_ones(self) -> None:
        """The shortest have one turn, the longest four."""
        lengths = itertools.cycle((1, 2, 3, 4))

        class Lasts(Three):
            def start(self) -> tuple[Observation, Info]:
                self._left = next(lengths)
                return "start", {}

            def step(self, action: Action) -> Step:
                self._left -= 1
                return Step("on", 0.0, not self._left, False, {})

        class Waits(BaseAgent):
            async def act(self, observation: Observation, info: Info) -> Action:
                await asyncio.sleep(0.005)
                return "a"

        run = collect(Lasts, Waits, episodes=999, budget=Budget(turns=100), concurrency=64)
        assert all(one.error is None for one in run)
        assert run.report.ended_by == "turns"
        assert 90 <= run.report.total.turns <= 115

    def test_each_environment_of_a_mixture_reserves_what_its_own_episodes_use(self) -> None:
        class Pays(BaseAgent):
            def reset(self, env: Env) -> None:
                self._cost = 1.0 if type(env.unwrapped) is Three else 0.0

            async def act(self, observation: Observation, info: Info) -> Reply:
                await asyncio.sleep(0)
                return Reply("a", Generation(cost=self._cost))

        class Free(Three):
            pass

        envs = {"paid": Component(Three), "free": Component(Free)}
        order = [("paid", 0), *(("free", index) for index in range(50)), ("paid", 1)]
        run = collect(envs, Pays, episodes=order, budget=Budget(cost=5.0), concurrency=8)
        assert len(list(run)) == 51
        assert (run.report.ended_by, run.report.total.cost) == ("cost", 3.0)

    @pytest.mark.slow
    def test_a_budget_of_seconds_ends_a_run(self) -> None:
        run = collect(Three, SilentAgent, episodes=itertools.count(), budget=Budget(seconds=0.2))
        assert len(list(run)) >= 1
        assert run.report.ended_by == "seconds"

    def test_a_budget_that_is_not_spent_changes_nothing(self) -> None:
        run = collect(Three, SilentAgent, episodes=3, budget=Budget(turns=99, tokens=1))
        assert len(list(run)) == 3
        assert run.report.ended_by == "done"


class Unavailable(BaseAgent):
    """Cannot ask its model, except in the episodes that are drawn from ``good``."""

    def __init__(self, good: Iterator[bool]) -> None:
        self._good = good

    async def act(self, observation: Observation, info: Info) -> Action:
        if observation == "start" and not next(self._good):
            raise ModelUnavailableError("The port is closed.")
        return "a"


class TestAModelThatCannotBeAsked:
    def test_a_run_ends_after_so_many_episodes_in_a_row(self) -> None:
        good = iter([True, False, False, True, False, False, False, True])
        run = collect(
            Three,
            lambda: Unavailable(good),
            episodes=99,
            concurrency=1,
            policy=FaultPolicy(abort_after=3),
        )
        kept = []
        with pytest.raises(ModelUnavailableError, match=r"3 episodes in a row.*port is closed"):
            kept.extend(one.error is None for one in run)  # the list keeps those before the error
        assert kept == [True, False, False, True, False, False, False]
        assert run.report.ended_by == "error"

    def test_the_episodes_in_flight_are_cut_off(self) -> None:
        class Hangs(BaseAgent):
            numbers = itertools.count()

            async def act(self, observation: Observation, info: Info) -> Action:
                if next(self.numbers) < 2:
                    await asyncio.Event().wait()
                raise ModelUnavailableError("The port is closed.")

        run = collect(Three, Hangs, episodes=99, policy=FaultPolicy(abort_after=4))
        with pytest.raises(ModelUnavailableError):
            list(run)
        assert (run.report.total.episodes, run.report.total.cancelled) == (4, 2)

    def test_other_errors_do_not_end_a_run(self) -> None:
        class Broken(BaseAgent):
            def act(self, observation: Observation, info: Info) -> Action:
                raise ValueError

        run = collect(Three, Broken, episodes=9, policy=FaultPolicy(abort_after=1))
        assert len(list(run)) == 9


class TestValuesThatCannotWork:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: FaultPolicy(on_error="ignore"),  # type: ignore[arg-type]
            lambda: FaultPolicy(retries=-1),
            lambda: FaultPolicy(turn_deadline=0),
            lambda: FaultPolicy(min_group=0),
            lambda: FaultPolicy(abort_after=0),
            lambda: Budget(turns=-1),
            lambda: collect(Three, SilentAgent, episodes=1, episodes_per_group=0),
            lambda: collect(Three, SilentAgent, episodes=1, policy=FaultPolicy(min_group=2)),
        ],
    )
    def test_impossible_policies_and_budgets_are_refused(self, make: Callable[[], Any]) -> None:
        with pytest.raises(ConfigError):
            make()


def run_in_process_sandbox(source: str) -> str:
    """Run a program where nothing keeps it apart."""
    sandbox = gem_workers.make_sandbox("process")
    try:
        return sandbox.run(Program(source, timeout=60)).stdout
    finally:
        sandbox.close()


def use_closed_sandbox() -> str:
    sandbox = gem_workers.make_sandbox("process")
    sandbox.close()
    return sandbox.run(Program("print(1)")).stdout


class Runs(BaseTool):
    """A tool that runs whatever function it is given, for any action."""

    name = "runs"
    shared = ("function", "where")

    def __init__(self, function: Callable[[], Any], where: str) -> None:
        self.function, self.where = function, where

    def instructions(self) -> str:
        return ""

    def parse(self, action: Action) -> ToolCall | None:
        if self.where == "parse":
            self.function()
        return ToolCall(self.name, {}, str(action)) if action == "call" else None

    def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(str(self.function()))

    def reset(self) -> None:
        if self.where == "reset":
            self.function()


def fail() -> None:
    raise KeyError("it")


class Question(TaskEnv):
    """Grades with whatever function it is given."""

    shared = (*TaskEnv.shared, "function")

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(columns={"text": str}, data=[{"text": "What?"}])
        self.function = function

    def question(self, row: dict[str, Any]) -> Observation:
        return str(row["text"])

    def grade(self, action: str) -> Grade:
        return Grade(1.0, correct=bool(self.function()))

    def solution(self) -> str:
        return ""


class TestABoundary:
    def test_a_limit_of_a_model_within_the_environment_is_its_error(self) -> None:
        class Judged(Three):
            def step(self, action: Action) -> Step:
                if self.turn:
                    raise LimitReachedError("context")
                return super().step(action)

        (one,) = collect(Judged, SilentAgent, episodes=1)
        assert one.error is not None
        assert (one.error["type"], one.error["boundary"]) == ("LimitReachedError", "env")
        assert (len(one.turns), one.turns[0].truncated) == (1, False)

    @pytest.mark.parametrize("where", ["parse", "reset"])
    def test_the_boundary_of_an_error_that_a_tool_raises_is_the_tool(self, where: str) -> None:
        (trajectory,) = collect(
            lambda: ToolWrapper(Three(), tools=[Runs(fail, where)]), SilentAgent, episodes=1
        )
        assert trajectory.error is not None
        assert (trajectory.error["boundary"], trajectory.error["type"]) == ("tool", "KeyError")

    @pytest.mark.parametrize(
        ("function", "expected"),
        [(fail, ("tool", "KeyError")), (use_closed_sandbox, ("sandbox", "SandboxError"))],
    )
    def test_a_failed_call_that_does_not_end_the_episode_has_its_boundary_in_the_info(
        self, function: Callable[[], Any], expected: tuple[str, str]
    ) -> None:
        (trajectory,) = collect(
            lambda: ToolWrapper(Three(), tools=[Runs(function, "run")], max_tool_uses=1),
            lambda: ScriptedAgent(["call", "a"]),
            episodes=1,
        )
        assert trajectory.error is None
        assert len(trajectory.turns) == 4
        error = trajectory.turns[0].info["error"]
        assert (error["boundary"], error["type"]) == expected

    @pytest.mark.slow
    def test_a_tool_that_runs_a_program_without_a_fault_has_no_boundary(self) -> None:
        (trajectory,) = collect(
            lambda: ToolWrapper(
                Three(),
                tools=[Runs(lambda: run_in_process_sandbox("print(6 * 7)"), "run")],
                max_tool_uses=1,
            ),
            lambda: ScriptedAgent(["call", "a"]),
            episodes=1,
        )
        assert trajectory.turns[1].observation.startswith("42")

    @pytest.mark.parametrize(
        ("function", "expected"),
        [(fail, ("grader", "KeyError")), (use_closed_sandbox, ("sandbox", "SandboxError"))],
    )
    def test_the_boundary_of_an_error_in_grading_is_the_grader_or_its_sandbox(
        self, function: Callable[[], Any], expected: tuple[str, str]
    ) -> None:
        run = collect(lambda: Question(function), SilentAgent, episodes=2)
        for trajectory in run:
            assert trajectory.error is not None
            assert (trajectory.error["boundary"], trajectory.error["type"]) == expected
        assert run.report.envs["Question"].errors == {expected[0]: 2}

    def test_the_boundary_of_an_error_is_the_innermost_that_was_marked(self) -> None:
        with pytest.raises(KeyError) as caught, boundary("grader"), boundary("tool"):
            fail()
        assert error_record(caught.value, "env")["boundary"] == "tool"

    def test_an_error_that_was_raised_from_another_has_the_boundary_of_its_cause(self) -> None:
        error = ValueError("no grade")
        error.__cause__ = SandboxError("closed")
        assert error_record(error, "env")["boundary"] == "sandbox"

    def test_an_error_without_a_marked_boundary_has_the_default_one(self) -> None:
        loop = ValueError("a")
        loop.__cause__ = loop
        assert error_record(loop, "env")["boundary"] == "env"
