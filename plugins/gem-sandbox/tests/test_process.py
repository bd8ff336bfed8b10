"""The sandbox ``process``: it does not isolate, but programs leave nothing behind."""

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backends import BACKENDS
from commands import Command

import gem_workers
from gem_core.errors import ConfigError
from gem_sandbox.guest.process_tree import children
from gem_sandbox.process import ProcessSandbox
from gem_workers.cancellation import Cancellation
from gem_workers.sandbox import Execution, Program, Sandbox

WHERE = "import os; print(os.getpid(), os.getcwd(), flush=True)\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = BACKENDS["process"]()
    yield made
    made.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_making_it_warns_that_programs_are_not_isolated() -> None:
    with pytest.warns(RuntimeWarning, match="without isolation"):
        sandbox = gem_workers.make_sandbox("process")
    assert isinstance(sandbox, ProcessSandbox)
    assert not sandbox.isolated


@pytest.mark.slow
def test_programs_have_the_packages_of_this_interpreter(sandbox: Sandbox) -> None:
    execution = sandbox.run(Program("import sys, pytest; print(sys.executable)"))
    assert execution.stdout == sys.executable + "\n"


def test_programs_do_not_have_the_environment_of_this_process(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "secret" not in sandbox.run(Program("import os; print(os.environ)")).stdout


@pytest.mark.slow
def test_folder_and_tree_are_gone_when_the_run_ends(sandbox: Sandbox) -> None:
    source = WHERE + (
        "import time\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        print(os.getpid(), flush=True)\n"
        "os.makedirs(f'deep{os.getpid()}/er'); os.chmod(f'deep{os.getpid()}', 0)\n"
        "time.sleep(100)\n"
    )
    for timeout in (0.5, 5.0, 50.0):  # a busy machine needs more until all have begun
        execution = sandbox.run(Program(source, timeout=timeout))
        assert execution.limit == "wall_time"
        if len(lines := execution.stdout.splitlines()) == 4:
            break
    (main, folder), *others = (line.split() for line in lines)
    assert len(others) == 3
    assert not Path(folder).exists()
    assert all(gone(int(pid)) for pid in (main, *(pid for (pid,) in others)))


@pytest.mark.slow
def test_a_fork_bomb_is_stopped_by_the_number_of_processes(sandbox: Sandbox) -> None:
    source = "import os\nwhile True: os.fork()"
    execution = sandbox.run(Program(source, processes=20, timeout=60.0))
    assert execution.limit == "processes"
    assert sandbox.run(Program("print(1)")).ok


@pytest.mark.slow
def test_a_runner_that_was_killed_is_replaced() -> None:
    sandbox = BACKENDS["process"](workers=1)
    before = set(children(os.getpid()))
    sandbox.run(Program("pass"))
    runners = set(children(os.getpid())) - before
    for pid in runners:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: all(map(gone, runners)))
    assert sandbox.run(Program("print('on')")).stdout == "on\n"
    sandbox.close()


@pytest.mark.slow
def test_a_runner_that_is_killed_at_work_ends_only_its_run(tmp_path: Path) -> None:
    sandbox = BACKENDS["process"](workers=1)
    before, results = set(children(os.getpid())), list[Execution]()
    sandbox.run(Program("pass"))
    flag = tmp_path / "begun"
    source = f"import time; open({str(flag)!r}, 'x'); time.sleep(100)"
    thread = threading.Thread(target=lambda: results.append(sandbox.run(Program(source))))
    thread.start()
    wait_until(flag.exists)
    for pid in set(children(os.getpid())) - before:
        os.kill(pid, signal.SIGKILL)
    thread.join()
    assert results[0].exit_status == 137
    assert "runner" in results[0].stderr
    assert sandbox.run(Program("print('on')")).stdout == "on\n"
    sandbox.close()


@pytest.mark.slow
def test_nothing_outlives_a_host_that_is_killed() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import gem_workers, sys\n"
        "sandbox = gem_workers.make_sandbox('process')\n"
        "session = sandbox.session()\n"
        f"sys.stdout.write(session.run({WHERE!r}).stdout); sys.stdout.flush()\n"
        "session.run('import time; time.sleep(100)', timeout=100)\n"
    )
    with Command([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pid, folder = host.stdout.readline().split()
        assert not gone(int(pid))
        time.sleep(0.2)
        host.kill()
    wait_until(lambda: gone(int(pid)) and not Path(folder).exists())


@pytest.mark.slow
def test_a_thousand_sandboxes_share_their_runners() -> None:
    sandboxes = [BACKENDS["process"](workers=2) for _ in range(1000)]
    before = len(children(os.getpid()))
    for sandbox in sandboxes[::100]:
        assert sandbox.run(Program("print(1)")).ok
    assert len(children(os.getpid())) - before <= 2
    for sandbox in sandboxes:
        sandbox.close()


def test_a_program_in_another_language_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ConfigError, match="runs python; got language='fortran'"):
        sandbox.run(Program("pass", language="fortran"))


def test_at_least_one_worker_is_required() -> None:
    with pytest.raises(ConfigError, match="workers must be at least 1, or None; got 0"):
        BACKENDS["process"](workers=0)


@pytest.mark.slow
def test_names_that_a_program_forgot_to_import_are_supplied(sandbox: Sandbox) -> None:
    source = "counts = Counter('abca')\nprint(counts['a'], math.isqrt(17))\n1 / 0"
    execution = sandbox.run(Program(source, supply_names=True))
    assert execution.stdout == "2 4\n"
    assert execution.stderr.count("File ") == 1
    assert "NameError" in sandbox.run(Program(source)).stderr
    assert "SyntaxError" in sandbox.run(Program("def", supply_names=True)).stderr


@pytest.mark.slow
def test_a_session_keeps_its_sandbox_alive() -> None:
    session = BACKENDS["process"]().session()
    session.run("x = 1")
    gc.collect()
    assert session.run("print(x)").stdout == "1\n"
    session.close()


@pytest.mark.slow
def test_a_monitor_that_is_killed_leaves_no_process(sandbox: Sandbox) -> None:
    session = sandbox.session()
    pid = session.run("import os; print(os.getpid())").stdout
    monitor = Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[1]
    os.kill(int(monitor), signal.SIGKILL)
    wait_until(lambda: gone(int(pid)))
    assert session.run("print(1)").exit_status == 137
    assert session.run("print(2)").stdout == "2\n"
    session.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The sandbox 'process'")
def test_a_piece_of_a_session_that_is_cancelled_before_it_starts_does_not_run(
    tmp_path: Path,
) -> None:
    """Otherwise closing the session would wait until the piece has ended."""
    cancellation = Cancellation()
    cancellation.cancel()
    with contextlib.closing(ProcessSandbox(workers=1)) as sandbox:
        session = sandbox.session(timeout=60)
        session.start_process()
        with pytest.raises(asyncio.CancelledError):
            cancellation.run(session.run_piece, f"open({str(tmp_path / 'ran')!r}, 'w')", 60.0)
        session.close()
        assert sandbox.run(Program("print(1)")).stdout == "1\n"
    assert not (tmp_path / "ran").exists()
