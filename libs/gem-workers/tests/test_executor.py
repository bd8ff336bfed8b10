"""Worker processes: what dies, what cannot be sent, Ctrl-C, scripts without a main guard."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from gem_core import Action, BaseEnv, Env, GemError, Info, Observation, Step
from gem_core.errors import ConfigError, EnvironmentFault, WorkerDiedError
from gem_core.vector import VectorEnv
from gem_workers import WorkerPool

pytestmark = pytest.mark.slow
# Worker processes get these classes by value: they need not find this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

MakeVector = Callable[..., VectorEnv]


class Unreadable:
    """Can be pickled, but not read again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("not a number",)


class LocalError(Exception):
    """Not known to a worker by its name."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{reason} ({code})")


class LockedError(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


class Counter(BaseEnv):
    """Does what an action says."""

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        info: Info = {}
        match action:
            case "exit":
                os._exit(3)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "leave":
                raise SystemExit
            case "lock":
                info["lock"] = threading.Lock()
            case "unreadable":
                info["object"] = Unreadable()
            case "local error":
                raise LocalError(7, "bad luck")
            case "locked error":
                raise LockedError
        return Step(f"{action} {self.turn}", 1.0, False, False, info)

    def pid(self) -> int:
        return os.getpid()

    def exit(self) -> None:
        os._exit(4)


class DiesInReset(Counter):
    """Takes its process with it when it is reset."""

    def start(self) -> tuple[Observation, Info]:
        os._exit(5)


@pytest.fixture
def make_vector() -> Iterator[MakeVector]:
    """Make vectors with one worker, or as many as are given; all are closed at the end."""
    made: list[VectorEnv] = []

    def make(make_envs: Sequence[Any], *, max_workers: int = 1, **kwargs: Any) -> VectorEnv:
        executor = WorkerPool(max_workers=max_workers)
        made.append(VectorEnv(make_envs, executor=executor, **kwargs))
        return made[-1]

    yield make
    for vector in made:
        vector.close()


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


class TestAWorkerThatDies:
    @pytest.mark.parametrize(
        ("action", "status"), [("exit", "exit status 3"), ("kill", "exit status -9")]
    )
    def test_a_worker_that_dies_in_mid_step_takes_its_environments_episodes_and_no_other(
        self, make_vector: MakeVector, action: str, status: str
    ) -> None:
        vector = make_vector([Counter] * 4, max_workers=2)
        vector.reset(seed=0)
        vector.step(["a"] * 4)
        with pytest.raises(EnvironmentFault, match="WorkerDiedError") as fault:
            vector.step(["b", action, "b", "b"])
        assert fault.value.index == 1
        assert isinstance(fault.value.__cause__, WorkerDiedError)
        assert status in str(fault.value)
        assert {i: step.observation for i, step in fault.value.completed.items()} == {
            0: "b 2",
            2: "b 2",
        }
        with pytest.raises(EnvironmentFault, match="next reset starts afresh"):
            vector.step({3: "b"})
        vector.reset(indices=[1, 3])
        assert vector.step(["c"] * 4).observations == ["c 3", "c 1", "c 3", "c 1"]

    def test_a_worker_that_dies_between_steps_is_noticed_and_replaced(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector([Counter] * 2, max_workers=2)
        firsts = vector.reset(seed=0)[0]
        (pid, other) = vector.call("pid")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EnvironmentFault, match="exit status -9") as fault:
            vector.step(["a"] * 2)
        assert fault.value.index == 0
        assert vector.reset(seed=0)[0] == firsts
        new_pid, same = vector.call("pid")
        assert new_pid != pid
        assert same == other

    @pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
    def test_a_worker_that_dies_truncates_the_episodes_if_errors_do(
        self, make_vector: MakeVector, autoreset: str
    ) -> None:
        vector = make_vector([Counter] * 2, on_error="truncate", autoreset=autoreset)
        vector.reset(seed=0)
        batch = vector.step(["exit", "a"])
        assert batch.truncated == [True, True]
        for info in batch.infos:
            final = info["final_info"] if autoreset == "same_step" else info
            assert final["error"]["type"] == "WorkerDiedError"
        if autoreset == "next_step":
            vector.step(["ignored"] * 2)
        assert vector.step(["a"] * 2).observations == ["a 1"] * 2

    def test_a_worker_that_dies_again_and_again_is_replaced_each_time(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector([Counter], on_error="truncate")
        vector.reset(seed=0)
        for _ in range(3):
            assert vector.step(["exit"]).truncated == [True]
        assert vector.step(["a"]).observations == ["a 1"]

    def test_a_worker_that_dies_while_others_steps_are_under_way_holds_nobody_up(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector([Counter] * 2, max_workers=2, on_error="truncate")
        vector.reset(seed=0)
        vector.send(["exit", "a"])
        received: dict[int, bool] = {}
        while len(received) < 2:
            indices, batch = vector.recv(timeout=60)
            received.update(zip(indices, batch.truncated, strict=True))
        assert received == {0: True, 1: False}

    def test_an_environment_whose_worker_died_can_be_restored_from_a_snapshot(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector([Counter])
        vector.reset(seed=0)
        vector.step(["a"])
        snapshot = vector.snapshot()
        with pytest.raises(EnvironmentFault):
            vector.step(["exit"])
        vector.restore(snapshot)
        assert vector.step(["b"]).observations == ["b 2"]

    @pytest.mark.parametrize("call", ["reset", "call", "snapshot"])
    def test_a_worker_that_dies_in_another_call_than_step_is_a_fault_and_the_call_is_not_repeated(
        self, make_vector: MakeVector, call: str
    ) -> None:
        class DiesInSnapshot(Counter):
            def snapshot(self) -> bytes:
                os._exit(6)

        vector = make_vector(
            [{"reset": DiesInReset, "call": Counter, "snapshot": DiesInSnapshot}[call]]
        )
        answers: list[BaseException] = []

        def ask() -> None:
            try:
                _ = vector.call("exit") if call == "call" else getattr(vector, call)()
            except BaseException as error:
                answers.append(error)

        # In a thread, as the call may never return.
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(timeout=60)
        assert [type(error) for error in answers] == [EnvironmentFault]
        assert isinstance(answers[0].__cause__, WorkerDiedError)

    def test_a_worker_that_dies_is_a_fault_if_its_environment_cannot_be_made_again(
        self, make_vector: MakeVector, tmp_path: Path
    ) -> None:
        flag = tmp_path / "made"

        def make_once() -> Env:
            flag.touch(exist_ok=False)
            return Counter()

        vector = make_vector([make_once])
        vector.reset(seed=0)
        vector.send(["exit"])
        with pytest.raises(EnvironmentFault):
            vector.recv(timeout=60)

    def test_a_worker_that_dies_in_making_an_environment_is_an_error(
        self, make_vector: MakeVector
    ) -> None:
        with pytest.raises(WorkerDiedError, match="exit status 8"):
            make_vector([lambda: os._exit(8)])

    def test_a_vector_whose_worker_has_just_died_can_be_closed(
        self, make_vector: MakeVector
    ) -> None:
        for _ in range(2):
            vector = make_vector([Counter])
            vector.reset()
            (pid,) = vector.call("pid")
            os.kill(pid, signal.SIGKILL)
            wait_for_end(pid)
            vector.close()


class TestWhatCannotBeSent:
    @pytest.mark.parametrize("position", [0, 1])
    def test_an_environment_that_cannot_be_sent_is_refused_and_no_process_is_left(
        self, make_vector: MakeVector, children: Callable[[], set[str]], position: int
    ) -> None:
        lock = threading.Lock()

        def make_bad() -> Env:
            lock.acquire()
            return Counter()

        make_envs: list[Any] = [Counter, Counter]
        make_envs[position] = make_bad
        before = children()
        with pytest.raises(ConfigError, match="must be picklable"):
            make_vector(make_envs, max_workers=2)
        assert not children() - before

    def test_an_answer_that_cannot_be_sent_is_a_fault_of_its_environment_alone(
        self, make_vector: MakeVector, subtests: pytest.Subtests
    ) -> None:
        vector = make_vector([Counter] * 3)
        for action, message in (
            ("lock", "cannot be sent from a worker"),
            ("unreadable", "not a number"),
            ("local error", r"bad luck \(7\)"),
            ("locked error", "LockedError: locked"),
        ):
            with subtests.test(action):
                vector.reset(seed=0)
                vector.send(["a", action, "a"])
                received: dict[int, str] = {}
                while len(received) < 3:
                    try:
                        indices, batch = vector.recv(timeout=60)
                        received.update(zip(indices, batch.observations, strict=True))
                    except EnvironmentFault as fault:
                        received[fault.index] = str(fault)
                        received.update((i, s.observation) for i, s in fault.completed.items())
                assert (received[0], received[2]) == ("a 1", "a 1")
                with pytest.raises(GemError, match=message):
                    raise GemError(received[1])
                assert vector.step({0: "b", 2: "b"}).observations == ["b 2", "b 2"]

    def test_an_action_that_cannot_be_sent_is_a_fault_and_the_vector_works_on(
        self, make_vector: MakeVector, subtests: pytest.Subtests
    ) -> None:
        vector = make_vector([Counter])
        for make_action in (threading.Lock, Unreadable):
            with subtests.test(make_action.__name__):
                vector.reset(seed=0)
                vector.send([make_action()])
                with pytest.raises(EnvironmentFault):
                    vector.recv(timeout=60)
                vector.reset(seed=0)
                assert vector.step(["a"]).observations == ["a 1"]

    def test_large_actions_and_observations_pass_one_another(
        self, make_vector: MakeVector, tmp_path: Path
    ) -> None:
        size = 4_000_000

        class Large(Counter):
            def step(self, action: Action) -> Step:
                with (tmp_path / "log").open("a") as log:
                    log.write(".")
                return Step("x" * size, float(len(action)), False, False, {})

        vector = make_vector([Large] * 3)
        pid = vector.call("pid")[0]
        vector.reset()
        vector.send({0: "a", 1: "a"})
        while not (tmp_path / "log").exists():
            time.sleep(0.001)
        sending = threading.Thread(target=vector.send, args=[{2: "a" * size}], daemon=True)
        sending.start()
        sending.join(timeout=60)
        if stuck := sending.is_alive():
            os.kill(pid, signal.SIGKILL)  # otherwise the vector cannot even be closed
        assert not stuck
        indices, batch = vector.recv(min_envs=3)
        assert dict(zip(indices, batch.rewards, strict=True)) == {0: 1.0, 1: 1.0, 2: float(size)}


SCRIPT = """
import dataclasses, os
from gem_core import BaseEnv, Step
from gem_core.vector import VectorEnv
from gem_workers import WorkerPool

@dataclasses.dataclass
class Move:
    text: str

class LostError(Exception):
    pass

class Mine(BaseEnv):
    def start(self):
        self.moves = []
        return "start", {}
    def step(self, action):
        if action == "lose":
            raise LostError("lost")
        self.moves.append(action)
        return Step(str(action), 1.0, False, False, {"move": self.moves[-1]})
    def pid(self):
        return os.getpid()

print("script", flush=True)
vector = VectorEnv([Mine] * 2, executor=WorkerPool(max_workers=2), **OPTIONS)
with vector:
    vector.reset(seed=0)
"""


@pytest.fixture
def run_script(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a script, which is a vector of two environments of its own, in a process group."""
    started: list[subprocess.Popen[str]] = []

    def run(body: str, options: str = "{}") -> "subprocess.Popen[str]":
        path = tmp_path / "script.py"
        path.write_text(f"OPTIONS = {options}\n{SCRIPT}    {body}\n")
        started.append(
            subprocess.Popen(
                [sys.executable, path],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def finish(process: "subprocess.Popen[str]") -> tuple[str, str]:
    return process.communicate(timeout=120)


class TestScripts:
    def test_a_script_needs_no_main_guard_and_its_own_classes_pass_as_actions_infos_and_state(
        self, run_script: Callable[..., "subprocess.Popen[str]"]
    ) -> None:
        process = run_script(
            "print(vector.step(['a', 'b']).observations)\n"
            "    vector.send([Move('left'), Move('right')])\n"
            "    batch = vector.recv(min_envs=2, timeout=60)[1]\n"
            "    print(sorted(batch.observations))\n"
            "    print(all(type(info['move']) is Move for info in batch.infos))\n"
            "    vector.restore(vector.snapshot())"
        )
        out, err = finish(process)
        assert err == ""
        assert out.splitlines() == [
            "script",
            "['a', 'b']",
            "[\"Move(text='left')\", \"Move(text='right')\"]",
            "True",
        ]

    def test_an_error_of_a_scripts_own_class_keeps_its_message(
        self, run_script: Callable[..., "subprocess.Popen[str]"]
    ) -> None:
        process = run_script(
            "batch = vector.step(['lose', 'b'])\n    print(batch.infos[0]['error']['message'])",
            "{'on_error': 'truncate', 'autoreset': 'off'}",
        )
        assert finish(process) == ("script\nlost\n", "")

    def test_ctrl_c_ends_the_script_and_its_workers_quietly(
        self, run_script: Callable[..., "subprocess.Popen[str]"]
    ) -> None:
        process = run_script(
            "print(*vector.call('pid'), flush=True)\n    while True: vector.step(['a', 'b'])"
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "script\n"
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert all(map(is_alive, workers))
        os.killpg(process.pid, signal.SIGINT)
        _, err = finish(process)
        assert process.returncode == -signal.SIGINT
        assert not any(map(is_alive, workers))
        assert err.count("Traceback (most recent call last)") == 1
        assert err.rstrip().endswith("KeyboardInterrupt")
        assert "in serve" not in err

    def test_workers_end_when_their_parent_is_killed(
        self, run_script: Callable[..., "subprocess.Popen[str]"]
    ) -> None:
        process = run_script(
            "print(*vector.call('pid'), flush=True)\n    import signal\n    signal.pause()"
        )
        assert process.stdout is not None
        process.stdout.readline()
        workers = [int(pid) for pid in process.stdout.readline().split()]
        process.kill()
        for pid in workers:
            wait_for_end(pid)
        assert "Traceback" not in finish(process)[1]

    def test_a_vector_that_nobody_closed_does_not_keep_the_script_alive(
        self, run_script: Callable[..., "subprocess.Popen[str]"]
    ) -> None:
        process = run_script("print(*vector.call('pid'), flush=True); vector.close = print; exit()")
        out, err = finish(process)
        assert (process.returncode, err) == (0, "")
        for pid in out.split()[1:]:
            wait_for_end(int(pid))
