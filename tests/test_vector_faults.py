"""``VectorEnv``: environments that raise, and ``send`` and ``recv``."""

import pickle
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gem_core import Action, AsyncEnv, BaseEnv, Info, Observation, Step, Wrapper
from gem_core.errors import EnvironmentFault, GemError
from gem_core.vector import VectorEnv
from gem_core.vector.serial import SerialExecutor
from gem_core.vector.threads import ThreadsExecutor

MakeVector = Callable[..., VectorEnv]


class Counter(BaseEnv):
    """Ends after ``length`` steps; does what an action says."""

    def __init__(self, *, length: int = 3) -> None:
        self.length = length
        self.closed = False

    def start(self, *, name: str = "start") -> tuple[Observation, Info]:
        self.turn = 0
        return f"{name} {self.rng.random()}", {"turn": 0}

    def step(self, action: Action) -> Step:
        if action == "raise":
            raise ValueError("boom")
        self.turn += 1
        observation = f"{action} {self.turn} {self.rng.random()}"
        return Step(
            observation, self.turn / 4, self.turn == self.length, False, {"turn": self.turn}
        )

    def sample_random_action(self) -> Action:
        return self.action_rng.choice("abc")

    def close(self) -> None:
        self.closed = True


class Fragile(Counter):
    """Cannot be reset after an error in a step."""

    def __init__(self, *, made: list["Fragile"], broken_when_made: int = 0) -> None:
        super().__init__()
        made.append(self)
        self.broken = 0 < broken_when_made <= len(made)

    def start(self, *, name: str = "start") -> tuple[Observation, Info]:
        if self.broken:
            raise RuntimeError("cannot start")
        return super().start(name=name)

    def step(self, action: Action) -> Step:
        self.broken = action == "raise"
        return super().step(action)


class Later(AsyncEnv):
    """An asynchronous counter."""

    async def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    async def step(self, action: Action) -> Step:
        if action == "raise":
            raise ValueError("boom")
        self.turn += 1
        return Step(f"{action} {self.turn}", 0.5, self.turn == 2, False, {})


class Gate(Counter):
    """The action ``wait`` waits until the gate is opened."""

    def __init__(self, opened: threading.Event) -> None:
        super().__init__(length=100)
        self.opened = opened

    def step(self, action: Action) -> Step:
        if action == "wait" and not self.opened.wait(timeout=30):
            raise TimeoutError
        return super().step(action)


@pytest.fixture
def make_vector() -> Iterator[MakeVector]:
    """Make vectors of three counters, or of what is given; all are closed at the end."""
    made: list[VectorEnv] = []

    def make(make_envs: Any = (Counter,) * 3, *, executor: Any = None, **kwargs: Any) -> VectorEnv:
        vector = VectorEnv(make_envs, executor=executor or SerialExecutor(), **kwargs)
        made.append(vector)
        return vector

    yield make
    for vector in made:
        vector.close()


class TestFaults:
    @pytest.mark.parametrize("number", [3, 200])
    def test_raise_names_the_environment_and_keeps_the_steps_of_the_others(
        self, make_vector: MakeVector, number: int
    ) -> None:
        vector = make_vector([Counter] * number)
        vector.reset(seed=0)
        actions = ["a"] * number
        actions[1] = "raise"
        with pytest.raises(
            EnvironmentFault, match="Environment 1 raised ValueError: boom"
        ) as fault:
            vector.step(actions)
        assert fault.value.index == 1
        assert isinstance(fault.value.__cause__, ValueError)
        assert sorted(fault.value.completed) == [0, *range(2, number)]
        assert all(step.info == {"turn": 1} for step in fault.value.completed.values())
        turns = [info["turn"] for info in vector.step(["a"] * number).infos]
        assert turns == [2, 1, *[2] * (number - 2)]

    def test_the_first_of_several_faults_is_raised(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        with pytest.raises(EnvironmentFault) as fault:
            vector.step({2: "raise", 0: "a", 1: "raise"})
        assert fault.value.index == 2
        assert list(fault.value.completed) == [0]

    def test_a_fault_survives_pickling(self) -> None:
        fault = EnvironmentFault("boom", 2, {0: "step"})
        twin = pickle.loads(pickle.dumps(fault))  # noqa: S301 - made here
        assert (str(twin), twin.index, twin.completed) == ("boom", 2, {0: "step"})

    def test_truncate_ends_that_episode_and_records_the_error(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector(on_error="truncate", autoreset="off")
        vector.reset(seed=0)
        before = vector.step(["a"] * 3).observations
        batch = vector.step(["a", "raise", "a"])
        assert batch.observations[1] == before[1]
        assert (batch.rewards[1], batch.terminated[1], batch.truncated[1]) == (0.0, False, True)
        error = batch.infos[1]["error"]
        assert (error["boundary"], error["type"], error["message"]) == ("env", "ValueError", "boom")
        assert "in step" in error["traceback"]
        assert (batch.truncated[::2], batch.infos[::2]) == ([False, False], [{"turn": 2}] * 2)
        vector.reset(indices=[1])
        assert [info["turn"] for info in vector.step(["a"] * 3).infos] == [3, 1, 3]

    @pytest.mark.parametrize("make_env", [Counter, Later])
    def test_truncate_and_same_step_go_on_with_the_next_episode(
        self, make_vector: MakeVector, make_env: Any
    ) -> None:
        vector = make_vector([make_env], on_error="truncate")
        first = vector.reset(seed=0)[0][0]
        batch = vector.step(["raise"])
        assert batch.truncated == [True]
        assert batch.observations[0].startswith("start")
        assert batch.infos[0]["final_observation"] == first
        assert batch.infos[0]["final_info"]["error"]["message"] == "boom"
        assert vector.step(["a"]).observations[0].startswith("a 1")

    def test_truncate_and_next_step_reset_at_the_next_step(self, make_vector: MakeVector) -> None:
        vector = make_vector([Counter], on_error="truncate", autoreset="next_step")
        vector.reset(seed=0)
        assert "error" in vector.step(["raise"]).infos[0]
        assert vector.step(["ignored"]).observations[0].startswith("start")

    @pytest.mark.parametrize("autoreset", ["same_step", "next_step", "off"])
    def test_the_same_seed_gives_the_same_episodes_after_a_fault(
        self, make_vector: MakeVector, autoreset: str
    ) -> None:
        def play() -> list[Any]:
            vector = make_vector([Counter], on_error="truncate", autoreset=autoreset)
            vector.reset(seed=0)
            vector.step(["raise"])
            if autoreset == "off":
                vector.reset()
            return [vector.step(["a"]).observations for _ in range(6 - (autoreset == "off") * 3)]

        assert play() == play()

    @pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
    def test_an_environment_that_cannot_be_reset_is_closed_and_made_anew(
        self, make_vector: MakeVector, autoreset: str
    ) -> None:
        made: list[Fragile] = []
        vector = make_vector([lambda: Fragile(made=made)], on_error="truncate", autoreset=autoreset)
        vector.reset(seed=0)
        steps = [vector.step([action]) for action in ("raise", "a", "a")]
        assert steps[0].truncated == [True]
        assert steps[-1].observations[0].startswith("a ")
        assert [env.closed for env in made] == [True, False]

    def test_an_environment_that_cannot_be_reset_when_made_anew_raises(
        self, make_vector: MakeVector
    ) -> None:
        made: list[Fragile] = []
        vector = make_vector([lambda: Fragile(made=made, broken_when_made=2)], on_error="truncate")
        vector.reset(seed=0)
        with pytest.raises(EnvironmentFault, match="cannot start"):
            vector.step(["raise"])

    def test_an_episode_is_truncated_when_closing_its_broken_environment_fails_too(
        self, make_vector: MakeVector
    ) -> None:
        made: list[Fragile] = []

        class Stuck(Fragile):
            def close(self) -> None:
                super().close()
                if self.broken:
                    raise OSError("already gone")

        vector = make_vector([lambda: Stuck(made=made)], on_error="truncate")
        vector.reset(seed=0)
        assert vector.step(["raise"]).truncated == [True]
        assert len(made) == 2

    def test_a_fault_in_reset_raises_with_what_the_others_returned(
        self, make_vector: MakeVector
    ) -> None:
        made: list[Fragile] = []
        vector = make_vector([Counter, lambda: Fragile(made=made, broken_when_made=1)])
        with pytest.raises(EnvironmentFault, match=r"Environment 1 .*cannot start") as fault:
            vector.reset(seed=0)
        assert fault.value.completed[0][1] == {"turn": 0}

    def test_an_environment_that_is_made_with_an_error_closes_the_others(
        self, make_vector: MakeVector
    ) -> None:
        made: list[Counter] = []

        def make_good() -> Counter:
            made.append(Counter())
            return made[-1]

        def make_bad() -> Counter:
            raise OSError("no such file")

        with pytest.raises(OSError, match="no such file"):
            make_vector([make_good, make_good, make_bad])
        assert [env.closed for env in made] == [True, True]

    def test_a_wrapper_may_return_a_plain_tuple(self, make_vector: MakeVector) -> None:
        class Plain(Wrapper):
            def step(self, action: Action) -> Any:
                return tuple(self.env.step(action))

        vector = make_vector([lambda: Plain(Counter(length=1))])
        vector.reset(seed=0)
        batch = vector.step(["a"])
        assert batch.terminated == [True]
        assert batch.infos[0]["final_info"] == {"turn": 1}


class TestSendAndRecv:
    def test_fast_environments_go_on_while_one_waits(self, make_vector: MakeVector) -> None:
        opened = threading.Event()
        vector = make_vector([lambda: Gate(opened)] * 3, executor=ThreadsExecutor())
        vector.reset(seed=0)
        vector.send(["a", "wait", "a"])
        done: set[int] = set()
        while done != {0, 2}:
            indices, batch = vector.recv()
            assert [text.split()[0] for text in batch.observations] == ["a"] * len(indices)
            done.update(indices)
        for turn in range(2, 6):
            vector.send({2: "b"})
            indices, batch = vector.recv()
            assert indices == [2]
            assert batch.infos == [{"turn": turn}]
        with pytest.raises(TimeoutError, match=r"within 0\.01 seconds"):
            vector.recv(timeout=0.01)
        opened.set()
        assert vector.recv()[0] == [1]

    def test_recv_returns_what_is_there_after_its_timeout(self, make_vector: MakeVector) -> None:
        opened = threading.Event()
        vector = make_vector([lambda: Gate(opened)] * 2, executor=ThreadsExecutor())
        vector.reset(seed=0)
        vector.send({0: "a"})
        vector.send({1: "wait"})
        for _ in range(600):
            try:
                indices, _ = vector.recv(min_envs=2, timeout=0.05)
                break
            except TimeoutError:  # it has nothing yet
                continue
        assert indices == [0]
        opened.set()
        assert vector.recv()[0] == [1]

    def test_an_environment_that_is_in_a_step_takes_no_other(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        vector.send({1: "a"})
        with pytest.raises(GemError, match=r"\[1\] have a step in progress"):
            vector.send(["b"] * 3)
        vector.send({0: "c"})
        indices, batch = vector.recv(min_envs=2)
        assert dict(zip(indices, batch.infos, strict=True)) == {0: {"turn": 1}, 1: {"turn": 1}}

    @pytest.mark.parametrize(
        "call",
        [
            lambda vector: vector.step(["a"] * 3),
            lambda vector: vector.reset(),
            lambda vector: vector.snapshot(),
            lambda vector: vector.sample_random_actions(),
        ],
    )
    def test_nothing_else_is_done_while_steps_are_under_way(
        self, make_vector: MakeVector, call: Callable[[VectorEnv], Any]
    ) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        vector.send({0: "a", 2: "a"})
        with pytest.raises(GemError, match="Steps of 2 environments are in progress"):
            call(vector)
        assert sorted(vector.recv(min_envs=2)[0]) == [0, 2]
        call(vector)

    @pytest.mark.parametrize("min_envs", [0, 2, -1])
    def test_recv_waits_for_no_more_steps_than_are_under_way(
        self, make_vector: MakeVector, min_envs: int
    ) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        with pytest.raises(GemError, match="there are 0"):
            vector.recv()
        vector.send({0: "a"})
        with pytest.raises(GemError, match="there are 1"):
            vector.recv(min_envs=min_envs)
        assert vector.recv()[0] == [0]

    def test_a_fault_comes_with_the_steps_that_were_received(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        vector.send(["a", "raise", "a"])
        with pytest.raises(EnvironmentFault) as fault:
            vector.recv(min_envs=3)
        assert fault.value.index == 1
        assert sorted(fault.value.completed) == [0, 2]
        assert vector.step(["b"] * 3).infos[0] == {"turn": 2}

    def test_environments_work_before_anybody_waits_for_them(self, make_vector: MakeVector) -> None:
        arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        opened = threading.Event()

        class Announcing(Gate):
            def step(self, action: Action) -> Step:
                arrived.put(1)
                return super().step(action)

        vector = make_vector([lambda: Announcing(opened)] * 2, executor=ThreadsExecutor())
        vector.reset(seed=0)
        vector.send(["wait"] * 2)
        try:
            assert [arrived.get(timeout=30), arrived.get(timeout=30)] == [1, 1]
        finally:
            opened.set()
        assert sorted(vector.recv(min_envs=2)[0]) == [0, 1]
