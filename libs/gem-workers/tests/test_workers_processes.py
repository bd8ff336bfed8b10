"""Processes of worker pools: their start, its failures, and the end of their host."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Command

from gem_core.errors import ConfigError, EntryPointError, SnapshotError, WorkerDiedError
from gem_workers import WorkerPool, shared_pool

pytestmark = pytest.mark.slow
LONG = 60.0
PLAY = """
import asyncio, os, pathlib, sys, threading, time
from gem_workers import WorkerPool, shared_pool
pool = WorkerPool(max_workers=3)
"""


def wait_for_end(pid: int) -> None:
    end = time.monotonic() + LONG
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.01)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Write a module that can be imported, and return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, source: str) -> str:
        (tmp_path / f"{name}.py").write_text(source)
        return name

    return write


class TestThePreload:
    def test_the_preload_is_imported_once_for_all_workers(
        self, module: Callable[[str, str], str], tmp_path: Path
    ) -> None:
        log = tmp_path / "log"
        name = module(
            "logged_import", f"open({str(log)!r}, 'a').write('x')\ndef answer(): return 42"
        )
        with WorkerPool(preload=[name], max_workers=2) as pool:
            for _ in range(2):
                with pytest.raises(WorkerDiedError):
                    pool.call("os:abort", deadline=LONG)
                assert pool.call(f"{name}:answer", deadline=LONG) == 42
        assert log.read_text() == "x"

    def test_every_call_tells_why_the_preload_failed_which_is_tried_once(
        self, module: Callable[[str, str], str], tmp_path: Path, subtests: pytest.Subtests
    ) -> None:
        log = tmp_path / "log"
        logged = module("logged_try", f"open({str(log)!r}, 'a').write('x')")
        for number, (source, message) in enumerate(
            (
                ("import no_such_thing", "raised ModuleNotFoundError: .*no_such"),
                ("1 / 0", "raised ZeroDivisionError: division by zero"),
                ("import sys; sys.exit(3)", "raised SystemExit: 3"),
                ("syntax error", "raised SyntaxError"),
            )
        ):
            with subtests.test(source):
                log.write_text("")
                name = module(f"bad_preload_{number}", source)
                with WorkerPool(preload=[logged, name]) as pool:
                    for _ in range(3):
                        with pytest.raises(EntryPointError, match=f"importing '{name}' {message}"):
                            pool.call("os:getpid", deadline=LONG)
                assert log.read_text() == "x"

    def test_a_preload_that_kills_its_process_is_an_error_with_what_it_said(
        self, module: Callable[[str, str], str]
    ) -> None:
        source = "import os, sys; print('too bad', file=sys.stderr, flush=True); os.abort()"
        with (
            WorkerPool(preload=[module("deadly_preload", source)]) as pool,
            pytest.raises(WorkerDiedError, match=r"deadly_preload.*too bad"),
        ):
            pool.call("os:getpid", deadline=LONG)

    def test_the_preload_can_begin_before_the_first_call(
        self, module: Callable[[str, str], str], tmp_path: Path
    ) -> None:
        flag = tmp_path / "flag"
        name = module("early_import", f"open({str(flag)!r}, 'x')")
        with WorkerPool(preload=[name]) as pool:
            pool.warm()
            end = time.monotonic() + LONG
            while not flag.exists():
                assert time.monotonic() < end
                time.sleep(0.01)
            assert pool.call("os:getpid", deadline=LONG) > 0

    def test_a_pool_can_be_closed_while_it_imports(self, module: Callable[[str, str], str]) -> None:
        pool = WorkerPool(preload=[module("endless_import", "import time; time.sleep(300)")])
        pool.warm()
        pool.close()


class TestTheArguments:
    @pytest.mark.parametrize(
        ("kwargs", "message"),
        [
            ({"max_workers": 0}, "max_workers must be at least 1"),
            ({"memory_mib": 0}, "memory_mib must be at least 1"),
            ({"preload": "math"}, "preload must be a sequence of module names; got 'math'"),
        ],
    )
    def test_arguments_that_cannot_work_are_refused(
        self, kwargs: dict[str, object], message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            WorkerPool(**kwargs)  # type: ignore[arg-type]


class TestTheSharedPool:
    def test_the_shared_pool_is_one_for_all_who_ask_for_the_same(self) -> None:
        pool = shared_pool(preload=("json",), memory_mib=512)
        assert shared_pool(preload=["json"], memory_mib=512) is pool
        assert shared_pool(preload=("json",)) is not pool

    def test_the_shared_pool_is_made_anew_once_it_was_closed(self) -> None:
        pool = shared_pool(preload=("string",))
        pool.close()
        again = shared_pool(preload=("string",))
        assert again.call("string:capwords", "a b", deadline=LONG) == "A B"
        again.close()

    @pytest.mark.parametrize("save", [pickle.dumps, copy.copy, copy.deepcopy])
    def test_the_shared_pool_cannot_be_saved(self, save: Callable[[WorkerPool], object]) -> None:
        with pytest.raises(SnapshotError, match="neither be pickled nor copied"):
            save(shared_pool())


def report_parent(pool: WorkerPool, results: "multiprocessing.SimpleQueue[int]") -> None:
    results.put(pool.call("os:getppid", deadline=LONG))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of threads, since 3.12
class TestAForkOfTheHost:
    def test_a_fork_of_the_host_has_processes_of_its_own_and_leaves_those_of_its_parent(
        self,
    ) -> None:
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        with WorkerPool(max_workers=1) as pool:
            template = pool.call("os:getppid", deadline=LONG)
            worker = pool.call("os:getpid", deadline=LONG)
            child = context.Process(target=report_parent, args=(pool, results))
            child.start()
            child.join()
            assert results.get() != template
            assert pool.call("os:getpid", deadline=LONG) == worker

    def test_a_fork_of_the_host_that_lives_on_keeps_no_late_worker_alive(self) -> None:
        with WorkerPool(max_workers=1) as pool:
            worker = pool.call("os:getpid", deadline=LONG)
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            with pytest.raises(TimeoutError):
                pool.call("time:sleep", 300, deadline=0.05)
            wait_for_end(worker)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def test_a_fork_of_the_host_that_ends_like_a_program_says_nothing_and_ends_nothing(
        self, run_python: Callable[..., str]
    ) -> None:
        code = (
            PLAY
            + """
before = pool.call("os:getpid", deadline=30)
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(pool.call("os:getpid", deadline=30) == before)
"""
        )
        assert run_python(code, PYTHONWARNINGS="error", PYTHONDEVMODE="1") == "True\n"


BUSY = (
    PLAY
    + """
def work():
    try:
        pool.call("time:sleep", 300, deadline=300)
    except Exception:
        pass

def wait_for_workers(number):
    while len(pids := children.read_text().split()) < number:
        time.sleep(0.01)
    return pids

template = pool.call("os:getppid", deadline=60)
children = pathlib.Path(f"/proc/{template}/task/{template}/children")
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
wait_for_workers(2)  # the second was started because the first is in a call
pool.call("os:getpid", deadline=60)
pids = wait_for_workers(3)
print(template, *pids, flush=True)
"""
)


class TestTheEndOfTheHost:
    def test_the_end_of_the_host_by_the_hardest_kill_leaves_no_process(self) -> None:
        host = Command(
            [sys.executable, "-c", BUSY + "time.sleep(300)"], stdout=subprocess.PIPE, text=True
        )
        with host:
            assert host.stdout is not None
            pids = [int(pid) for pid in host.stdout.readline().split()]
            assert len(pids) == 4
            host.kill()
        for pid in pids:
            wait_for_end(pid)

    def test_the_end_of_the_host_in_the_middle_of_calls_is_quick_and_silent_and_leaves_no_process(
        self,
    ) -> None:
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", BUSY],
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        for pid in map(int, done.stdout.split()):
            wait_for_end(pid)

    @pytest.mark.parametrize(
        "code",
        [
            (
                "pool.call('os:getpid', deadline=30)\n"
                "shared_pool(preload=['json']).call('os:getpid', deadline=30)\n"
                "asyncio.run(pool.call_async('os:getpid', deadline=30))\n"
                "closed = WorkerPool(); closed.call('os:getpid', deadline=30); closed.close()"
            ),
            "pool.warm()",
            "asyncio.run(asyncio.wait_for(pool.call_async('time:sleep', 60, deadline=90), 0.1))",
        ],
        ids=["after calls", "during the start", "after a cancelled call"],
    )
    def test_the_end_of_the_host_is_silent_if_nobody_closed_its_pools(self, code: str) -> None:
        # asyncio's debug mode reports slow steps, which a loaded machine has.
        calm = "import logging; logging.getLogger('asyncio').setLevel(logging.ERROR)\n"
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", calm + PLAY + code],
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        if "wait_for" in code:
            assert done.stderr.splitlines()[-1].startswith("TimeoutError")
        else:
            assert (done.returncode, done.stderr) == (0, "")

    def test_the_end_of_the_host_by_ctrl_c_in_a_call_ends_the_call_at_once(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "pid"
        code = (
            PLAY
            + """
try:
    pool.call("worker_functions:write_pid_and_sleep", sys.argv[1], deadline=300)
except KeyboardInterrupt:
    print(pool.call("os:getpid", deadline=30), flush=True)
"""
        )
        command = [sys.executable, "-c", code, str(path)]
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        with Command(command, stdout=subprocess.PIPE, text=True, env=environ) as host:
            while not path.exists():
                assert host.poll() is None
                time.sleep(0.01)
            host.send_signal(signal.SIGINT)
            assert host.stdout is not None
            worker = int(path.read_text())
            assert int(host.stdout.readline()) != worker
        wait_for_end(worker)


def test_importing_the_package_imports_nothing_heavy(run_python: Callable[..., str]) -> None:
    heavy = ["asyncio", "cloudpickle", "ctypes", "hydra", "multiprocessing", "numpy", "pydantic"]
    code = f"import gem_workers, sys; print([n for n in {heavy} if n in sys.modules])"
    assert run_python(code).strip() == "[]"
