"""How vectors end, under each executor: closed, dropped, in a fork, while a step hangs."""

import asyncio
import contextlib
import gc
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

import cloudpickle
import pytest
from forks import in_fork

import gem_core
import gem_core.vector.executor
import gem_core.vector.threads
import gem_workers.vector_workers
from gem_core import AsyncEnv, BaseEnv, Step
from gem_core.errors import ClosedError, EnvironmentFault, ForkError
from gem_core.specs import EnvSpec

cloudpickle.register_pickle_by_value(sys.modules[__name__])

EXECUTORS = ["serial", "threads", "processes"]
TWO = {"id": "processes", "max_workers": 2}
STUBBORN = threading.Event()
"""Set in a step that cannot be cancelled."""


class Noting(BaseEnv):
    """Notes in a folder that it was made and closed; an action says what happens in a step."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.made = self.folder / f"made-{os.getpid()}-{id(self)}"
        if (self.folder / "hang").exists():
            time.sleep(1000)
        self.made.touch()

    def start(self):
        self.turn = 0
        return "start", {}

    def step(self, action):
        if action == "hang":
            (self.folder / "hanging").touch()
            time.sleep(1000)
        elif action == "wait":
            (self.folder / "hanging").touch()
            while not (self.folder / "go").exists():
                time.sleep(0.01)
        elif action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "strange":
            raise KeyboardInterrupt
        self.turn += 1
        return Step(f"{action} {self.turn}", 0.0, False, False, {})

    def sample_random_action(self):
        return "a"

    def close(self):
        self.made.unlink(missing_ok=True)


class Later(AsyncEnv):
    """Hangs where cancelling does not reach."""

    async def start(self):
        return "start", {}

    async def step(self, action):
        if action == "strange":
            raise KeyboardInterrupt
        if action == "stubborn":
            STUBBORN.set()
        while action == "stubborn":
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
        return Step(action, 0.0, False, False, {})

    def sample_random_action(self):
        return "a"


@pytest.fixture
def make(tmp_path):
    made = []

    def make(executor, size=2, cls=Noting):
        kwargs = {"folder": str(tmp_path)} if cls is Noting else {}
        spec = EnvSpec(id="t:Noting", entry_point=cls, kwargs=kwargs)
        vector = gem_core.make_vec(spec, num_envs=size, executor=executor)
        made.append(vector.close)
        return vector

    yield make
    for close in made:
        close()


@pytest.fixture
def hasty(monkeypatch):
    for module in (gem_core.vector.executor, gem_core.vector.threads, gem_workers.vector_workers):
        monkeypatch.setattr(module, "CLOSE_SECONDS", 0.3)


def wait_until(check):
    end = time.monotonic() + 60
    while not check() and time.monotonic() < end:
        time.sleep(0.01)
    assert check()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_closing_twice_closes_once_and_nothing_can_be_used_any_more(make, executor, tmp_path):
    vector = make(executor)
    vector.reset(seed=0)
    assert len(list(tmp_path.glob("made-*"))) == 2
    vector.close()
    vector.close()
    assert not list(tmp_path.glob("made-*"))
    for use in (vector.reset, vector.snapshot, lambda: vector.step(["a", "b"])):
        with pytest.raises(ClosedError, match="vector is closed"):
            use()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_fork_can_neither_use_nor_close_it_and_the_parent_goes_on(make, executor, tmp_path):
    vector = make(executor)
    vector.reset(seed=0)
    assert vector.step(["a", "b"]).observations == ["a 1", "b 1"]

    def use():
        with pytest.raises(ForkError, match="belongs to process"):
            vector.step(["x", "y"])
        with pytest.raises(ForkError):
            vector.reset()
        vector.close()
        return len(list(tmp_path.glob("made-*")))

    assert in_fork(use) == "2"
    assert vector.step(["c", "d"]).observations == ["c 2", "d 2"]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_vector_that_is_dropped_is_closed(make, executor, tmp_path):
    before = threading.active_count()
    spec = EnvSpec(id="t:Noting", entry_point=Noting, kwargs={"folder": str(tmp_path)})
    vector = gem_core.make_vec(spec, num_envs=2, executor=executor)
    vector.reset(seed=0)
    vector.itself = vector
    del vector
    gc.collect()
    wait_until(lambda: not list(tmp_path.glob("made-*")))
    wait_until(lambda: threading.active_count() <= before + 1)  # and the one that closes


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_step_that_hangs_does_not_keep_close_from_its_end(make, executor, tmp_path, hasty):
    vector = make(executor, 3)
    vector.reset(seed=0)
    vector.send({1: "hang"})
    wait_until((tmp_path / "hanging").exists)
    if executor == "processes":  # those that share a process with it are killed, too
        vector.close()
        return
    with pytest.warns(RuntimeWarning, match="left to its thread"):
        vector.close()
    wait_until(lambda: len(list(tmp_path.glob("made-*"))) == 1)


def test_an_environment_whose_step_ends_late_is_closed_then(make, tmp_path, hasty):
    vector = make("threads", 2)
    vector.reset(seed=0)
    vector.send({0: "wait"})
    wait_until((tmp_path / "hanging").exists)
    with pytest.warns(RuntimeWarning, match="left to its thread"):
        vector.close()
    wait_until(lambda: len(list(tmp_path.glob("made-*"))) == 1)
    (tmp_path / "go").touch()
    wait_until(lambda: not list(tmp_path.glob("made-*")))


def test_requests_that_no_thread_has_begun_are_dropped(make, tmp_path, monkeypatch):
    join = gem_core.vector.threads._join

    def let_the_step_end(threads):  # close() has dropped the requests by then
        (tmp_path / "go").touch()
        return join(threads)

    monkeypatch.setattr(gem_core.vector.threads, "_join", let_the_step_end)
    monkeypatch.setattr(gem_core.vector.threads, "CLOSE_SECONDS", 60.0)
    vector = make({"id": "threads", "max_workers": 1}, 4)
    vector.reset(seed=0)
    vector.send(["wait", "b", "c", "hang"])
    wait_until((tmp_path / "hanging").exists)
    vector.close()
    assert not list(tmp_path.glob("made-*"))


@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_an_asynchronous_step_that_cannot_be_cancelled_does_not_keep_close(
    make, executor, monkeypatch
):
    monkeypatch.setattr(gem_core.vector.executor, "CLOSE_SECONDS", 0.3)
    vector = make(executor, 2, Later)
    vector.reset(seed=0)
    if executor == "threads":
        vector.send(["stubborn", "a"])
    else:
        vector._executor.submit("step", [(0, "stubborn")])
    assert STUBBORN.wait(30)
    STUBBORN.clear()
    with pytest.warns(RuntimeWarning, match="asynchronous environments did not end"):
        vector.close()


@pytest.mark.parametrize("cls", [Noting, Later])
def test_an_error_of_any_class_is_an_answer(make, cls):
    vector = make("threads", 2, cls)
    vector.reset(seed=0)
    with pytest.raises(EnvironmentFault, match="KeyboardInterrupt"):
        vector.step(["strange", "a"])
    assert vector.step(["b", "c"]).observations[1][0] == "c"


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_closed(make, tmp_path):
    vector = make(TWO)
    vector.reset(seed=0)
    with pytest.raises(EnvironmentFault, match="died"):
        vector.step(["die", "a"])
    vector.reset(seed=1)
    assert vector.step(["a", "b"]).observations == ["a 1", "b 1"]
    vector.close()
    assert len(list(tmp_path.glob("made-*"))) == 1  # of the process that died


@pytest.mark.slow
def test_a_worker_whose_environments_are_not_made_again_is_given_up(
    make, tmp_path, hasty, monkeypatch
):
    monkeypatch.setattr(gem_workers.vector_workers, "_LEAST_PATIENCE", 0.5)
    monkeypatch.setattr(gem_workers.vector_workers, "_PATIENCE", 0.0)
    vector = make(TWO)
    vector.reset(seed=0)
    (tmp_path / "hang").touch()
    with pytest.raises(EnvironmentFault, match="not made again within"):
        vector.step(["die", "a"])
    with pytest.raises(EnvironmentFault, match="not made again within"):
        vector.step(["b", "b"])
    vector.close()


@pytest.mark.slow
def test_closing_does_not_wait_for_environments_that_are_not_made_again(make, tmp_path, hasty):
    vector = make(TWO)
    vector.reset(seed=0)
    (tmp_path / "hang").touch()
    vector.send({0: "die"})
    with pytest.raises(TimeoutError):
        vector.recv(timeout=1.0)
    vector.close()


@pytest.mark.slow
def test_a_worker_that_cannot_be_replaced_answers_with_the_reason(make):
    vector = make(TWO)
    vector.reset(seed=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(EnvironmentFault, match="Too many open files"):
            vector.step(["die", "a"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with pytest.raises(EnvironmentFault, match="Too many open files"):
        vector.step(["a", "b"])
    vector.close()
