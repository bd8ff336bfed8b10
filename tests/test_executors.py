"""The executors: equal episodes under each of them, concurrency, nothing left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle
import pytest
from commands import Command
from selection import some

import gem_core
from gem_core import Action, AsyncEnv, BaseEnv, Env, GemError, Info, Observation, Step
from gem_core.errors import ConfigError, EnvironmentFault, UnknownIdError, UnknownKwargError
from gem_core.plugins import default_registry
from gem_core.seeding import child_seed
from gem_core.specs import EXECUTORS
from gem_core.vector import VectorEnv

# Worker processes get these classes by value: they need not find this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

NAMES = ["serial", "threads", "processes"]
GAMES = some(gem_core.list_envs("game:*"))
ENVS_PER_GAME = 2
STEPS = 30


class Counter(BaseEnv):
    """Ends after three steps; does what an action says."""

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        if action == "raise":
            raise ValueError("boom")
        if action == "stop":
            raise SystemExit("stop")
        self.turn += 1
        return Step(f"{action} {self.turn}", self.rng.random(), self.turn == 3, False, {})

    def sample_random_action(self) -> Action:
        return self.action_rng.choice("abc")


class Later(AsyncEnv):
    """An asynchronous counter."""

    async def start(self) -> tuple[Observation, Info]:
        await asyncio.sleep(0)
        self.turn = 0
        return f"start {self.rng.random()}", {}

    async def step(self, action: Action) -> Step:
        await asyncio.sleep(0)
        if action == "raise":
            raise ValueError("boom")
        if action == "cancel":
            raise asyncio.CancelledError
        self.turn += 1
        return Step(f"{action} {self.turn}", self.rng.random(), self.turn == 3, False, {})


class Meeting(Later):
    """No reset and no step ends before ``size`` environments are in one."""

    size = 4
    waiting: ClassVar[list["asyncio.Future[None]"]] = []

    async def _meet(self) -> None:
        mine = asyncio.get_running_loop().create_future()
        self.waiting.append(mine)
        if len(self.waiting) == self.size:
            for future in self.waiting:
                future.set_result(None)
            self.waiting.clear()
        await mine

    async def start(self) -> tuple[Observation, Info]:
        await self._meet()
        return await super().start()

    async def step(self, action: Action) -> Step:
        await self._meet()
        return await super().step(action)


class Rendezvous(Counter):
    """No reset and no step returns before all parties of a barrier are in one."""

    def __init__(self, barrier: threading.Barrier) -> None:
        self.barrier = barrier

    def start(self) -> tuple[Observation, Info]:
        self.barrier.wait(timeout=60)
        return super().start()

    def step(self, action: Action) -> Step:
        self.barrier.wait(timeout=60)
        return super().step(action)


class Piped(Counter):
    """The action ``wait`` waits until something is written to a named pipe."""

    def __init__(self, pipe: Path) -> None:
        self.pipe = pipe

    def step(self, action: Action) -> Step:
        if action == "wait":
            self.pipe.read_text()
        return super().step(action)


class PipedLater(Later):
    """An asynchronous ``Piped``."""

    def __init__(self, pipe: Path) -> None:
        self.pipe = pipe

    async def step(self, action: Action) -> Step:
        if action == "wait":
            await asyncio.to_thread(self.pipe.read_text)
        return await super().step(action)


@pytest.fixture
def make_vector(children: Callable[[], set[str]]) -> Iterator[Callable[..., VectorEnv]]:
    """Make vectors under an executor; when they are closed, no thread or process may be left."""
    threads, processes = set(threading.enumerate()), children()
    made: list[VectorEnv] = []

    def make(
        make_envs: Any, executor: str, *, max_workers: int | None = None, **kwargs: Any
    ) -> VectorEnv:
        arguments = {} if max_workers is None else {"max_workers": max_workers}
        runs = default_registry().make(EXECUTORS, executor, **arguments)
        made.append(VectorEnv(make_envs, executor=runs, **kwargs))
        return made[-1]

    yield make
    for vector in made:
        vector.close()
    for thread in set(threading.enumerate()) - threads:
        thread.join(timeout=60)
    assert set(threading.enumerate()) <= threads
    assert children() <= processes


def episodes(vector: VectorEnv, seeds: list[int], steps: int) -> list[list[Any]]:
    """Play random actions; return what each environment returned."""
    log: list[list[Any]] = [list(first) for first in zip(*vector.reset(seed=seeds), strict=True)]
    for _ in range(steps):
        batch = vector.step(vector.sample_random_actions())
        for own, step in zip(log, zip(*batch, strict=True), strict=True):
            own.append(step)
    return log


def episodes_alone(env: Env, seed: int, steps: int) -> list[Any]:
    """Play one environment as a vector with ``same_step`` would."""
    log: list[Any] = [*env.reset(seed=seed)]
    for _ in range(steps):
        step = env.step(env.sample_random_action())
        if step.terminated or step.truncated:
            observation, info = env.reset()
            final = {"final_observation": step.observation, "final_info": step.info}
            step = step._replace(observation=observation, info={**info, **final})
        log.append(tuple(step))
    return log


def seeds_of(env_id: str) -> list[int]:
    return [child_seed(7, env_id, number) for number in range(ENVS_PER_GAME)]


@pytest.fixture(scope="module")
def games_in_processes() -> dict[str, list[list[Any]]]:
    """Play all games together in worker processes; one by one would take long."""
    ids = [env_id for env_id in GAMES for _ in range(ENVS_PER_GAME)]
    seeds = [seed for env_id in GAMES for seed in seeds_of(env_id)]
    executor = {"id": "processes", "max_workers": 2}
    with gem_core.make_vec(ids, executor=executor, on_error="truncate") as vector:
        log = episodes(vector, seeds, STEPS)
    by_game: dict[str, list[list[Any]]] = {}
    for env_id, own in zip(ids, log, strict=True):
        by_game.setdefault(env_id, []).append(own)
    return by_game


class TestTheSameSeed:
    @pytest.mark.slow
    @pytest.mark.parametrize("env_id", GAMES)
    def test_gives_the_same_game_alone_and_under_every_executor(
        self, env_id: str, games_in_processes: dict[str, list[list[Any]]]
    ) -> None:
        seeds = seeds_of(env_id)
        alone = [episodes_alone(gem_core.make(env_id), seed, STEPS) for seed in seeds]
        for executor in (
            "serial",
            {"id": "threads", "max_workers": 1},
            {"id": "threads", "max_workers": 4},
        ):
            with gem_core.make_vec(env_id, num_envs=ENVS_PER_GAME, executor=executor) as vector:
                assert episodes(vector, seeds, STEPS) == alone
        assert games_in_processes[env_id] == alone

    @pytest.mark.slow
    @pytest.mark.parametrize("executor", NAMES)
    @pytest.mark.parametrize("max_workers", [1, 3])
    def test_gives_the_same_episodes_with_any_number_of_workers(
        self, make_vector: Callable[..., VectorEnv], executor: str, max_workers: int
    ) -> None:
        if executor == "serial":
            vector = make_vector([Counter] * 5, executor)
        else:
            vector = make_vector([Counter] * 5, executor, max_workers=max_workers)
        log = episodes(vector, [child_seed(3, index) for index in range(5)], 10)
        assert log == [episodes_alone(Counter(), child_seed(3, index), 10) for index in range(5)]
        assert vector.reset(seed=3)[0] == [own[0] for own in log]

    @pytest.mark.slow
    @pytest.mark.parametrize("executor", NAMES)
    def test_plays_on_exactly_from_a_snapshot_taken_under_another_executor(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        origin = make_vector([Counter] * 3, "serial")
        origin.reset(seed=1)
        origin.step(["a", "b", "c"])
        vector = make_vector([Counter] * 3, executor)
        vector.restore(origin.snapshot())
        for _ in range(6):
            actions = origin.sample_random_actions()
            assert vector.sample_random_actions() == actions
            assert vector.step(actions) == origin.step(actions)
        assert vector.snapshot() == origin.snapshot()


@pytest.mark.parametrize("executor", NAMES)
class TestEveryExecutor:
    @pytest.mark.slow
    def test_can_be_used_after_it_has_raised_a_fault(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        vector = make_vector([Counter] * 3, executor)
        vector.reset(seed=0)
        with pytest.raises(EnvironmentFault, match="Environment 1 raised ValueError") as fault:
            vector.step(["a", "raise", "c"])
        assert fault.value.index == 1
        assert isinstance(fault.value.__cause__, ValueError)
        assert {i: step.observation for i, step in fault.value.completed.items()} == {
            0: "a 1",
            2: "c 1",
        }
        assert vector.step(["a", "b", "c"]).observations == ["a 2", "b 1", "c 2"]

    @pytest.mark.slow
    def test_truncates_the_episode_of_a_fault(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        vector = make_vector([Counter, Later], executor, on_error="truncate")
        first = vector.reset(seed=0)[0]
        batch = vector.step(["raise", "raise"])
        assert batch.truncated == [True, True]
        for info, observation in zip(batch.infos, first, strict=True):
            assert info["final_observation"] == observation
            assert info["final_info"]["error"]["type"] == "ValueError"
        assert vector.step(["a", "b"]).observations == ["a 1", "b 1"]

    @pytest.mark.slow
    def test_runs_asynchronous_environments_beside_others(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        vector = make_vector([Later, Counter, Later], executor)
        vector.reset(seed=0)
        assert vector.step(["a", "b", "c"]).observations == ["a 1", "b 1", "c 1"]
        with pytest.raises(EnvironmentFault, match="Environment 2 raised ValueError") as fault:
            vector.step(["a", "b", "raise"])
        assert sorted(fault.value.completed) == [0, 1]

    @pytest.mark.slow
    def test_runs_asynchronous_environments_at_once(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        one_loop = {"max_workers": 1} if executor == "processes" else {}
        vector = make_vector([Meeting] * Meeting.size, executor, **one_loop)
        vector.reset(seed=0)
        vector.send(["a"] * Meeting.size)
        _, batch = vector.recv(min_envs=Meeting.size, timeout=60)
        assert batch.observations == ["a 1"] * Meeting.size

    @pytest.mark.slow
    def test_reports_an_asynchronous_environment_that_cancels_itself(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        vector = make_vector([Later], executor)
        vector.reset(seed=0)
        vector.send(["cancel"])
        with pytest.raises(EnvironmentFault, match="CancelledError"):
            vector.recv(timeout=60)

    @pytest.mark.slow
    def test_can_be_closed_while_steps_are_under_way(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        vector = make_vector([Later, Counter], executor)
        vector.reset(seed=0)
        vector.send(["a", "a"])
        vector.close()

    @pytest.mark.slow
    def test_passes_on_an_error_in_making_an_environment(
        self, make_vector: Callable[..., VectorEnv], executor: str, tmp_path: Path
    ) -> None:
        def make_good() -> Env:
            class Noted(Counter):
                def close(self) -> None:
                    (tmp_path / "closed").touch()

            return Noted()

        def make_bad() -> Env:
            raise FileNotFoundError("no data set")

        # With one worker, both environments are in the same process.
        workers = {} if executor == "serial" else {"max_workers": 1}
        with pytest.raises(FileNotFoundError, match="no data set"):
            make_vector([make_good, make_bad], executor, **workers)
        assert (tmp_path / "closed").exists()

    @pytest.mark.slow
    def test_closes_every_environment(
        self, make_vector: Callable[..., VectorEnv], executor: str, tmp_path: Path
    ) -> None:
        def make_env(name: str) -> Env:
            class Noted(Counter):
                def close(self) -> None:
                    (tmp_path / name).touch()

            return Noted()

        vector = make_vector([lambda name=name: make_env(name) for name in "abc"], executor)
        vector.reset()
        vector.close()
        vector.close()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
        with pytest.raises(GemError, match="closed"):
            vector.reset()

    @pytest.mark.slow
    def test_calls_a_method_of_every_environment(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        vector = make_vector([Counter] * 3, executor)
        vector.reset(seed=0)
        snapshots = vector.call("snapshot")
        vector.step(["a"] * 3)
        with pytest.raises(EnvironmentFault, match="has no attribute 'fly'"):
            vector.call("fly")
        vector.call("restore", snapshots[0])
        assert vector.step(["a"] * 3).observations == ["a 1"] * 3

    @pytest.mark.slow
    def test_refuses_arguments_that_it_does_not_take(
        self, make_vector: Callable[..., VectorEnv], executor: str
    ) -> None:
        with pytest.raises(UnknownKwargError, match="takes no argument 'workers'"):
            default_registry().make(EXECUTORS, executor, workers=2)
        assert make_vector([Counter], executor).num_envs == 1


HANGING = """
import signal, threading
import gem_core
from gem_core import BaseEnv, EnvSpec

class Hanging(BaseEnv):
    def start(self):
        return "", {}

    def step(self, action):
        print("in a step", flush=True)
        threading.Event().wait()

signal.signal(signal.SIGINT, signal.default_int_handler)
vector = gem_core.make_vec(EnvSpec(id="t:H", entry_point=Hanging), executor="threads")
vector.reset()
vector.step(["a"])
"""


class TestThreads:
    def test_environments_that_wait_are_reset_and_stepped_at_once(
        self, make_vector: Callable[..., VectorEnv]
    ) -> None:
        barrier = threading.Barrier(6)
        vector = make_vector([lambda: Rendezvous(barrier)] * 6, "threads", autoreset="off")
        vector.reset(seed=0)
        assert vector.step(["a"] * 6).observations == ["a 1"] * 6

    def test_no_more_environments_run_at_once_than_there_are_workers(
        self, make_vector: Callable[..., VectorEnv]
    ) -> None:
        running, most = [0], [0]
        lock = threading.Lock()
        together = threading.Barrier(2)

        class Counted(Counter):
            def step(self, action: Action) -> Step:
                with lock:
                    running[0] += 1
                    most[0] = max(most[0], running[0])
                together.wait(timeout=30)
                with lock:
                    running[0] -= 1
                return super().step(action)

        vector = make_vector([Counted] * 6, "threads", max_workers=2)
        vector.reset(seed=0)
        vector.step(["a"] * 6)
        assert most == [2]

    def test_an_exit_in_an_environment_is_its_fault_and_ends_no_thread_silently(
        self, make_vector: Callable[..., VectorEnv]
    ) -> None:
        vector = make_vector([Counter], "threads")
        vector.reset(seed=0)
        vector.send(["stop"])
        with pytest.raises(EnvironmentFault, match="SystemExit"):
            vector.recv(timeout=60)

    def test_one_event_loop_serves_threads_that_need_it_at_the_same_moment(
        self, make_vector: Callable[..., VectorEnv]
    ) -> None:
        number = 12
        barrier = threading.Barrier(number)

        class Mixed(Counter):
            """Waits, then returns an awaitable."""

            def step(self, action: Action) -> Any:
                barrier.wait(timeout=60)
                return self._later(action)

            async def _later(self, action: Action) -> Step:
                return Step(f"{action} 1", 0.0, False, False, {})

        vector = make_vector([Mixed] * number, "threads")
        vector.reset(seed=0)
        assert vector.step(["a"] * number).observations == ["a 1"] * number

    @pytest.mark.slow
    def test_a_step_that_hangs_does_not_keep_the_program_alive_after_ctrl_c(self) -> None:
        with Command(
            [sys.executable, "-c", HANGING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            stat = Path(f"/proc/{process.pid}/stat")
            while ") S " not in stat.read_text():
                time.sleep(0.01)
            time.sleep(0.3)  # Python can miss a signal in the instant in which it begins to wait
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == -signal.SIGINT

    @pytest.mark.parametrize("executor", ["threads", "processes"])
    @pytest.mark.parametrize("max_workers", [0, -1])
    def test_a_pool_needs_a_worker(self, executor: str, max_workers: int) -> None:
        with pytest.raises(ConfigError, match="max_workers must be at least 1"):
            default_registry().make(EXECUTORS, executor, max_workers=max_workers)

    def test_an_unknown_executor_is_refused(self) -> None:
        with pytest.raises(UnknownIdError, match="Did you mean 'threads'"):
            gem_core.make_vec("game:GuessTheNumber-v0", executor="thread")


class TestNoBarrier:
    """One environment waits for a named pipe; the others go on."""

    @pytest.mark.slow
    @pytest.mark.parametrize("make_env", [Piped, PipedLater])
    @pytest.mark.parametrize(
        ("executor", "max_workers"), [("threads", 2), ("processes", 2), ("processes", 1)]
    )
    def test_what_is_done_is_received_while_another_waits(
        self,
        make_vector: Callable[..., VectorEnv],
        tmp_path: Path,
        make_env: Callable[[Path], Env],
        executor: str,
        max_workers: int,
    ) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        vector = make_vector([lambda: make_env(pipe)] * 2, executor, max_workers=max_workers)
        vector.reset(seed=0)
        vector.send(["a", "wait"])
        try:
            indices, batch = vector.recv(timeout=60)
            assert (indices, batch.observations) == ([0], ["a 1"])
        finally:
            pipe.write_text("go on")
            _, batch = vector.recv()
        assert batch.observations == ["wait 1"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("make_env", "executor", "max_workers"),
        [
            (Piped, "threads", 2),
            (Piped, "processes", 2),
            (PipedLater, "threads", 1),
            (PipedLater, "processes", 1),
        ],
    )
    def test_an_environment_is_stepped_again_while_another_waits(
        self,
        make_vector: Callable[..., VectorEnv],
        tmp_path: Path,
        make_env: Callable[[Path], Env],
        executor: str,
        max_workers: int,
    ) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        vector = make_vector([lambda: make_env(pipe)] * 2, executor, max_workers=max_workers)
        vector.reset(seed=0)
        vector.send({1: "wait"})
        try:
            for turn in (1, 2):
                vector.send({0: "a"})
                indices, batch = vector.recv(timeout=60)
                assert (indices, batch.observations) == ([0], [f"a {turn}"])
        finally:
            pipe.write_text("go on")
            vector.recv()
