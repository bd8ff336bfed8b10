"""Rollouts: equal trajectories in any order, recorded errors, concurrency, closing."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import Action, AsyncEnv, BaseAgent, BaseEnv, Env, EnvSpec, Info, Observation, Step
from gem_core.agent import OracleAgent, RandomAgent, ScriptedAgent
from gem_core.errors import ClosedError, ConfigError
from gem_core.seeding import child_seed
from gem_rollout import Trajectory, Turn, collect, play_episode


class Walk(BaseEnv):
    """Draws its length, its rewards and its observations; does what an action says."""

    made: ClassVar[list["Walk"]]

    def __init__(self) -> None:
        self.closed = 0
        self.made.append(self)

    def start(self) -> tuple[Observation, Info]:
        self.left = self.rng.randint(1, 5)
        return f"start {self.rng.random()}", {"left": self.left}

    def step(self, action: Action) -> Step:
        if action == "raise":
            raise ValueError("boom")
        self.left -= 1
        return Step(f"{action} {self.rng.random()}", self.rng.random(), self.left == 0, False, {})

    def sample_random_action(self) -> Action:
        return self.action_rng.choice("abc")

    def close(self) -> None:
        self.closed += 1


class BlockingWalk(Walk):
    """Deserves a thread."""

    __qualname__ = "Walk"  # it decides what a seed draws
    blocking = True


class AsyncWalk(AsyncEnv, Walk):
    """An asynchronous walk, whose episodes overtake one another."""

    __qualname__ = "Walk"

    async def start(self) -> tuple[Observation, Info]:  # type: ignore[override]
        return Walk.start(self)

    async def step(self, action: Action) -> Step:  # type: ignore[override]
        for _ in range(self.left % 3):
            await asyncio.sleep(0)
        return cast("Any", Walk.step).__wrapped__(self, action)  # type: ignore[no-any-return]

    sample_random_action = Walk.sample_random_action
    close = Walk.close


class Meeting(BaseAgent):
    """Acts only once ``size`` agents want to."""

    def __init__(self, size: int, waiting: list["asyncio.Future[None]"]) -> None:
        self.size = size
        self.waiting = waiting

    async def act(self, observation: Observation, info: Info) -> Action:
        mine = asyncio.get_running_loop().create_future()
        self.waiting.append(mine)
        if len(self.waiting) == self.size:
            for future in self.waiting:
                future.set_result(None)
            self.waiting.clear()
        await mine
        return "a"


class Once(BaseEnv):
    """Ends with its first step."""

    def start(self) -> tuple[Observation, Info]:
        return "start", {}

    def step(self, action: Action) -> Step:
        return Step("end", 1.0, True, False, {})


class MeetingOnce(Once):
    """Its step returns only once all parties of a barrier are in theirs."""

    blocking = True

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier

    def step(self, action: Action) -> Step:
        self.barrier.wait(timeout=60)
        return Step("end", 1.0, True, False, {"thread": threading.current_thread().name})


class Closing(BaseAgent):
    """Counts how often it was reset and closed."""

    def __init__(self, made: list["Closing"]) -> None:
        self.closed = self.resets = 0
        made.append(self)

    def reset(self, env: Env) -> None:
        self.resets += 1

    def act(self, observation: Observation, info: Info) -> Action:
        return "a"

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def made() -> Iterator[list[Walk]]:
    """The walks that a test made; nothing may be left in a thread after it."""
    threads = set(threading.enumerate())
    Walk.made = []
    yield Walk.made
    assert not set(threading.enumerate()) - threads


def played(trajectory: Trajectory) -> dict[str, Any]:
    """Return all of a trajectory but its times."""
    fields = trajectory.to_dict()
    del fields["setup_seconds"], fields["started_at"]
    for turn in fields["turns"]:
        del turn["agent_seconds"], turn["env_seconds"]
    return fields


def by_number(trajectories: Any) -> dict[int, dict[str, Any]]:
    found = [played(trajectory) for trajectory in trajectories]
    assert len({one["index"] for one in found}) == len(found)
    return {one["index"]: one for one in found}


class TestTheSameSeed:
    @pytest.mark.slow
    @settings(max_examples=50 if thorough() else 15)
    @given(
        seed=st.integers(0, 2**40),
        numbers=st.lists(st.integers(0, 50), unique=True, max_size=8),
        concurrency=st.integers(1, 9),
        kind=st.sampled_from([Walk, BlockingWalk, AsyncWalk]),
    )
    def test_one_seed_gives_the_same_trajectories_in_any_order_at_any_concurrency(
        self, seed: int, numbers: list[int], concurrency: int, kind: type[Walk]
    ) -> None:
        together = by_number(
            collect(kind, RandomAgent, episodes=numbers, seed=seed, concurrency=concurrency)
        )
        assert sorted(together) == sorted(numbers)
        for number in numbers:
            alone = play_episode(Walk(), RandomAgent(), child_seed(seed, number), number)
            assert together[number] == {**played(alone), "env_id": kind.__name__}

    def test_the_seed_of_a_run_gives_its_missing_episodes(self) -> None:
        whole = by_number(collect(Walk, RandomAgent, episodes=10, seed=4))
        first = by_number(collect(Walk, RandomAgent, episodes=range(6), seed=4))
        missing = by_number(collect(Walk, RandomAgent, episodes=iter([9, 7, 6, 8]), seed=4))
        assert whole == {**first, **missing}

    def test_different_seeds_give_different_episodes(self) -> None:
        one, two = (by_number(collect(Walk, RandomAgent, episodes=3, seed=s)) for s in (1, 2))
        assert all(one[i]["final_observation"] != two[i]["final_observation"] for i in range(3))


class TestATrajectory:
    def test_a_trajectory_holds_observations_actions_and_rewards(self) -> None:
        (trajectory,) = collect(
            lambda: gem_core.make("game:GuessTheNumber-v0", min_number=1, max_number=4),
            lambda: ScriptedAgent(["\\boxed{1}", "\\boxed{2}", "\\boxed{3}", "\\boxed{4}"]),
            episodes=[3],
            seed=1,
            agent_name="counter",
        )
        env = gem_core.make("game:GuessTheNumber-v0", min_number=1, max_number=4)
        observation, info = env.reset(seed=child_seed(1, 3))
        assert trajectory.reset_info == info
        for turn in trajectory.turns:
            assert (turn.agent, turn.observation) == ("counter", observation)
            step = env.step(turn.action)
            assert (turn.reward, turn.terminated, turn.truncated, turn.info) == step[1:]
            observation = step.observation
        assert trajectory.turns[-1].terminated
        assert trajectory.final_observation == observation
        assert (trajectory.env_id, trajectory.agent) == ("game:GuessTheNumber-v0", "counter")
        assert (trajectory.index, trajectory.seed) == (3, child_seed(1, 3))
        assert trajectory.episode_return == 1.0
        assert trajectory.error is None

    def test_a_trajectory_measures_the_time_of_agents_and_environments(self) -> None:
        (trajectory,) = collect(Walk, RandomAgent, episodes=1)
        parts = [trajectory.setup_seconds]
        parts += [t.agent_seconds + t.env_seconds for t in trajectory.turns]
        assert min(parts) > 0
        assert trajectory.seconds == pytest.approx(sum(parts))

    @pytest.mark.parametrize(
        ("agent", "success"), [(OracleAgent, True), (lambda: ScriptedAgent(["no box"]), False)]
    )
    def test_a_trajectory_says_whether_the_episode_was_a_success(
        self, agent: Callable[[], Any], *, success: bool
    ) -> None:
        runs = collect(
            lambda: gem_core.make("game:GuessTheNumber-v0-hard"), agent, episodes=4, seed=0
        )
        assert [trajectory.success for trajectory in runs] == [success] * 4

    def test_success_is_unknown_if_the_range_of_returns_is(self) -> None:
        (trajectory,) = collect(Walk, RandomAgent, episodes=1)
        assert trajectory.success is None

    def test_an_episode_that_ended_with_an_error_is_never_a_success(self) -> None:
        spec = EnvSpec(id="test:Walk-v0", entry_point=Walk, return_range=(-1.0, 0.0))
        (trajectory,) = collect(
            lambda: gem_core.make(spec), lambda: ScriptedAgent(["raise"]), episodes=1
        )
        assert trajectory.error is not None
        assert trajectory.success is False


class BadReset(Once):
    def start(self) -> tuple[Observation, Info]:
        raise OSError("no data")


class BadAct(BaseAgent):
    def act(self, observation: Observation, info: Info) -> Action:
        raise ValueError("no idea")


class BadAgentReset(RandomAgent):
    def reset(self, env: Env) -> None:
        raise ValueError("no idea")


class LateBadAct(BaseAgent):
    async def act(self, observation: Observation, info: Info) -> Action:
        await asyncio.sleep(0)
        raise ValueError("no idea")


class CancelledAct(BaseAgent):
    async def act(self, observation: Observation, info: Info) -> Action:
        raise asyncio.CancelledError


class TestErrors:
    @pytest.mark.parametrize("blocking", [False, True])
    @pytest.mark.parametrize(
        ("env", "agent", "boundary", "name"),
        [
            (BadReset, RandomAgent, "env", "OSError"),
            (Walk, lambda: ScriptedAgent(["raise"]), "env", "ValueError"),
            (AsyncWalk, lambda: ScriptedAgent(["raise"]), "env", "ValueError"),
            (Walk, BadAgentReset, "agent", "ValueError"),
            (Walk, BadAct, "agent", "ValueError"),
            (Walk, LateBadAct, "agent", "ValueError"),
            (Walk, CancelledAct, "agent", "CancelledError"),
            (Once, RandomAgent, "agent", "NoRandomActionError"),
        ],
    )
    def test_an_error_is_recorded_with_its_boundary_and_the_run_goes_on(
        self, env: Any, agent: Any, boundary: str, name: str, *, blocking: bool
    ) -> None:
        def make_env() -> Env:
            one = env()
            one.blocking = blocking
            return one  # type: ignore[no-any-return]

        found = list(collect(make_env, agent, episodes=3, concurrency=2))
        assert [trajectory.turns for trajectory in found] == [[], [], []]
        for trajectory in found:
            assert trajectory.error is not None
            assert (trajectory.error["boundary"], trajectory.error["type"]) == (boundary, name)
            assert "Traceback" in trajectory.error["traceback"]

    def test_an_error_leaves_the_turns_before_it(self) -> None:
        seeds = range(20)
        agent = ScriptedAgent(["a", "raise"])
        for seed in seeds:
            trajectory = play_episode(Walk(), agent, seed)
            if trajectory.error is not None:
                break
        assert [turn.action for turn in trajectory.turns] == ["a"]
        assert trajectory.final_observation.startswith("a ")

    @pytest.mark.parametrize("which", ["env", "agent"])
    def test_an_error_in_making_an_environment_or_an_agent_is_raised(self, which: str) -> None:
        def fail() -> Any:
            raise FileNotFoundError("no model")

        make_env, make_agent = (fail, RandomAgent) if which == "env" else (Walk, fail)
        with pytest.raises(FileNotFoundError, match="no model"):
            list(collect(make_env, make_agent, episodes=3))
        assert [walk.closed for walk in Walk.made] == ([] if which == "env" else [1])

    def test_an_error_of_the_iterator_of_episodes_is_raised_after_the_played_episodes(self) -> None:
        def numbers() -> Iterator[int]:
            yield 0
            raise KeyError("no more")

        run = collect(Walk, RandomAgent, episodes=numbers())
        assert next(run).index == 0
        with pytest.raises(KeyError, match="no more"):
            next(run)

    @pytest.mark.parametrize("options", [{"concurrency": 0}, {"seed": -1}])
    def test_invalid_options_of_a_run_are_errors(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match=r"at least 1|non-negative"):
            list(collect(Walk, RandomAgent, episodes=2, **options))

    def test_a_rollout_goes_on_after_a_break_and_is_not_iterated_again_after_its_end(self) -> None:
        run = collect(Walk, RandomAgent, episodes=4)
        first = next(iter(run))
        assert len([first, *run]) == 4
        with pytest.raises(ClosedError, match="yields each trajectory once"):
            list(run)
        assert next(run, None) is None

        async def main() -> None:
            run = collect(Walk, RandomAgent, episodes=2)
            assert len([one async for one in run]) == 2
            with pytest.raises(ClosedError, match="yields each trajectory once"):
                [one async for one in run]

        asyncio.run(main())


class TestWorkAtOnce:
    def test_episodes_whose_agents_wait_overlap(self) -> None:
        size, waiting = 12, list["asyncio.Future[None]"]()
        found = collect(Once, lambda: Meeting(size, waiting), episodes=size, concurrency=size)
        assert len(list(found)) == size

    @pytest.mark.slow
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_each_blocking_environment_has_a_thread(self, *, asynchronous: bool) -> None:
        size, waiting = 40, list["asyncio.Future[None]"]()
        barrier = threading.Barrier(size)
        make_agent: Callable[[], Any] = (
            (lambda: Meeting(size, waiting)) if asynchronous else lambda: ScriptedAgent(["a"])
        )
        found = collect(lambda: MeetingOnce(barrier), make_agent, episodes=size, concurrency=size)
        threads = {trajectory.turns[0].info["thread"] for trajectory in found}
        assert len(threads) == size
        assert threading.current_thread().name not in threads

    def test_episodes_that_never_wait_need_one_environment_and_no_thread(self) -> None:
        for trajectory in collect(Walk, RandomAgent, episodes=20):
            assert trajectory.error is None
        assert len(Walk.made) == 1

    def test_no_more_episodes_are_under_way_than_the_concurrency_allows(self) -> None:
        size, waiting = 3, list["asyncio.Future[None]"]()
        agents: list[Meeting] = []

        def make_agent() -> Meeting:
            agents.append(Meeting(size, waiting))
            return agents[-1]

        found = collect(Once, make_agent, episodes=9, concurrency=size)
        assert len(list(found)) == 9
        assert len(agents) == size

    def test_a_slow_consumer_is_not_overrun(self) -> None:
        asked: list[int] = []

        def numbers() -> Iterator[int]:
            for number in range(1000):
                asked.append(number)
                yield number

        run = collect(Walk, RandomAgent, episodes=numbers())
        for _ in range(5):
            next(run)
        assert len(asked) < 10
        cast("Any", run).close()


class TestTheEnd:
    @pytest.mark.parametrize("kind", [Walk, BlockingWalk, AsyncWalk])
    @pytest.mark.parametrize("episodes", [None, 1, 5])
    def test_everything_that_was_made_is_closed_once(
        self, kind: type[Walk], episodes: int | None
    ) -> None:
        agents: list[Closing] = []
        run = collect(kind, lambda: Closing(agents), episodes=12, concurrency=4)
        for count, _ in enumerate(run, start=1):
            if count == episodes:
                break
        cast("Any", run).close()
        assert [walk.closed for walk in Walk.made] == [1] * len(Walk.made)
        assert [agent.closed for agent in agents] == [1] * len(agents)
        assert len(agents) >= 1
        if episodes is None:
            assert sum(agent.resets for agent in agents) == 12

    def test_no_environment_is_closed_while_a_step_is_in_it(self) -> None:
        inside, opened = threading.Event(), threading.Event()
        log: list[str] = []

        class Slow(Once):
            blocking = True

            def __init__(self, number: int) -> None:
                self.number = number

            def step(self, action: Action) -> Step:
                if self.number:
                    inside.set()
                    opened.wait(timeout=60)
                    log.append("stepped")
                else:
                    inside.wait(timeout=60)
                return Step("", 0.0, bool(not self.number), False, {})

            def close(self) -> None:
                if self.number:
                    log.append("closed")

        numbers = iter([0, 1])
        run = collect(lambda: Slow(next(numbers)), make_closing, episodes=2, concurrency=2)
        next(run)
        threading.Timer(0.05, opened.set).start()
        cast("Any", run).close()
        # The episode goes no further than the step that it was in.
        assert log == ["stepped", "closed"]

    @pytest.mark.slow
    def test_ctrl_c_that_does_not_wake_the_loop_is_handled(self) -> None:
        """As one that arrives between the loop's last look at signals and its sleep."""
        late: list[bool] = []

        class Waiting(BaseAgent):
            async def act(self, observation: Any, info: dict[str, Any]) -> str:
                threading.Timer(
                    0.3, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                ).start()
                asyncio.get_running_loop().call_later(10, late.append, True)
                await asyncio.sleep(3600)
                return ""

        with pytest.raises(KeyboardInterrupt):
            list(collect(Walk, Waiting, episodes=1))
        assert not late


def make_closing() -> BaseAgent:
    return Closing([])


class TestInsideAnEventLoop:
    def test_collect_inside_an_event_loop_says_what_to_use_instead(self) -> None:
        async def main() -> None:
            next(collect(Walk, RandomAgent, episodes=1))

        with pytest.raises(ConfigError, match="async for"):
            asyncio.run(main())

    @pytest.mark.parametrize("kind", [Walk, BlockingWalk, AsyncWalk])
    def test_an_event_loop_plays_the_same_trajectories(self, kind: type[Walk]) -> None:
        async def main() -> list[Trajectory]:
            run = collect(kind, RandomAgent, episodes=6, seed=2, concurrency=3)
            return [trajectory async for trajectory in run]

        assert by_number(asyncio.run(main())) == by_number(
            collect(kind, RandomAgent, episodes=6, seed=2)
        )

    def test_collect_in_an_event_loop_closes_everything_when_it_is_left_early(self) -> None:
        async def main() -> None:
            run = collect(BlockingWalk, RandomAgent, episodes=50, concurrency=4)
            async for _ in run:
                break
            await run.aclose()
            assert [walk.closed for walk in Walk.made] == [1] * len(Walk.made)

        asyncio.run(main())

    def test_collect_in_an_event_loop_can_be_cancelled(self) -> None:
        agents: list[Closing] = []
        all_wait = asyncio.Event()

        class Endless(Closing):
            async def act(self, observation: Observation, info: Info) -> Action:
                if len(agents) == 3:
                    all_wait.set()
                await asyncio.Event().wait()

        async def consume() -> None:
            async for _ in collect(Walk, lambda: Endless(agents), episodes=9, concurrency=3):
                pass

        async def main() -> None:
            task = asyncio.create_task(consume())
            await all_wait.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert [agent.closed for agent in agents] == [1, 1, 1]

    def test_play_episode_can_be_awaited(self) -> None:
        async def main() -> Trajectory:
            trajectory: Trajectory = await play_episode(cast("Any", AsyncWalk()), RandomAgent(), 5)
            return trajectory

        expected = {**played(play_episode(Walk(), RandomAgent(), 5)), "env_id": "AsyncWalk"}
        assert played(asyncio.run(main())) == expected


def test_a_trajectory_is_restored_from_its_dict() -> None:
    trajectory = Trajectory(
        "test:Walk-v0", "agent", 3, 4, turns=[Turn("agent", "o", "a", 1.0, True, False, {"x": [1]})]
    )
    assert Trajectory.from_dict(trajectory.to_dict()) == trajectory
