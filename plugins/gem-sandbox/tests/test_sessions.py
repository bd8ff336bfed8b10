"""A session is stopped between its runs, keeps its limit of memory, and says why it was ended."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from backends import BACKENDS, make_backend
from commands import Command

from gem_sandbox.guest.process_tree import ProcessStopper, descendants

pytestmark = pytest.mark.slow
IDLE = 0.3
COUNT = """
import os, time
def count():
    with open("stamps", "a") as file: file.write(f"{time.monotonic()}\\n")
"""
UNTIL_IT_COUNTS = """
while not os.path.exists('stamps') or not os.path.getsize('stamps'): time.sleep(0.01)
"""
LONGEST_PAUSE = """
def stamps():
    return [float(line) for line in open("stamps")]
start = time.monotonic()
while stamps()[-1] < start < time.monotonic() < start + 60: time.sleep(0.01)
found = stamps()
print(max(later - earlier for earlier, later in zip(found, found[1:])), found[-1] > start)
"""
WAYS = {
    "a chain of forks": """
if os.fork() == 0:
    while True:
        count()
        if os.fork(): os._exit(0)
        os.setsid()
""",
    "a daemon that ignores signals": """
import signal
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True: count()
""",
    "a thread that outlives its main thread": """
import ctypes, threading
def go_on():
    while True: count()
if os.fork() == 0:
    threading.Thread(target=go_on, daemon=True).start()
    ctypes.CDLL(None).syscall(60, 0)
""",
    "an alarm": """
import signal
if os.fork() == 0:
    def go_on(*_):
        count()
        signal.setitimer(signal.ITIMER_REAL, 0.001)  # again and again, but never inside itself
    signal.signal(signal.SIGALRM, go_on)
    go_on()
    while True: time.sleep(10)
""",
    "a thread that starts programs": """
import subprocess, sys, threading
def go_on():
    while True:
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"])
        count()
threading.Thread(target=go_on, daemon=True).start()
""",
}


@pytest.mark.parametrize("name", BACKENDS)
def test_what_a_run_leaves_behind_does_nothing_until_the_next_run(
    name: str, subtests: pytest.Subtests
) -> None:
    with contextlib.closing(make_backend(name, workers=1)) as sandbox:
        sessions = {way: sandbox.session(timeout=90.0) for way in WAYS}
        for way, session in sessions.items():
            assert session.run(f"{COUNT}{WAYS[way]}{UNTIL_IT_COUNTS}").ok, way
        time.sleep(IDLE)
        for way, session in sessions.items():
            with subtests.test(way):
                longest, goes_on = session.run(LONGEST_PAUSE).stdout.split()
                assert float(longest) > IDLE / 2
                assert goes_on == "True"
                session.close()


@pytest.mark.parametrize("name", BACKENDS)
def test_variables_and_processes_of_a_session_go_on_after_a_pause(name: str) -> None:
    sandbox = make_backend(name, workers=1)
    session = sandbox.session(timeout=90.0)
    session.run("import subprocess, sys; x = 1")
    start = "child = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'input()'], stdin=-1)"
    assert session.run(start).ok
    time.sleep(IDLE)
    execution = session.run("child.communicate(b'\\n'); print(x, child.returncode)")
    assert (execution.stdout, execution.stderr) == ("1 0\n", "")
    sandbox.close()


@pytest.mark.parametrize("name", BACKENDS)
def test_processes_that_grow_together_past_the_limit_of_memory_end_the_session(name: str) -> None:
    sandbox = make_backend(name, workers=1)
    session = sandbox.session(timeout=60.0, memory=1 << 27)
    grow = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = [os.urandom(1) * (1 << 20) for _ in range(40)]
        time.sleep(100)
"""
    limits = [session.run(grow).limit]
    for _ in range(300):
        if limits[-1] is None:
            limits.append(session.run("time.sleep(0.1)").limit)
    assert limits[-1] == "memory"
    assert session.run("print('on')").stdout == "on\n"
    sandbox.close()


@pytest.mark.parametrize("name", ["warm-full", "warm-namespaces", "warm-confined", "process"])
def test_a_session_that_goes_on_while_it_is_idle_is_ended_and_the_next_run_says_so(
    name: str,
) -> None:
    sandbox = make_backend(name, workers=1)
    session = sandbox.session(timeout=90.0)
    session.run("x = 1")
    before = set(descendants(os.getpid()))
    for pid in before:
        os.kill(pid, signal.SIGCONT)
    end = time.monotonic() + 60
    while before <= set(descendants(os.getpid())):
        assert time.monotonic() < end
        time.sleep(0.01)
    execution = session.run("print('x' in globals())")
    assert execution.stdout == "False\n"
    assert "a process went on while the session was idle" in execution.stderr
    execution = session.run("print(2)")
    assert (execution.stdout, execution.stderr) == ("2\n", "")
    sandbox.close()


def test_a_tree_of_processes_is_stopped_and_continued() -> None:
    source = "import os, time\nos.fork()\nprint(1, flush=True)\nwhile True: time.sleep(0.01)"
    top = Command([sys.executable, "-I", "-S", "-c", source], stdout=subprocess.PIPE)
    assert top.stdout.read(4) == b"1\n1\n"
    stopper = ProcessStopper(lambda: [top.pid, *descendants(top.pid)])
    assert len(stopper.processes()) == 2
    assert not stopper.are_stopped()
    assert stopper.stop()
    assert stopper.are_stopped()
    stopper.resume()
    assert not stopper.are_stopped()
    stopper.send_to_all(signal.SIGKILL)
