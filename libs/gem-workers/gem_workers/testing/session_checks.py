"""The contract of sessions, a part of ``check_sandbox``."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable

from gem_core.errors import SandboxError, SnapshotError
from gem_core.testing.report import require
from gem_workers.sandbox import SandboxSession, SessionSandbox

__all__ = ["SESSION_CHECKS", "raises"]

_IDLE_SECONDS = 1.0
_MEMORY = 1 << 28
_PIECES = 300
_TICKING = """
import os, time
def tick():
    while True:
        with open("ticks", "a") as file: file.write(f"{time.monotonic()}\\n")
        time.sleep(0.01)
        if os.fork(): os._exit(0)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        tick()
time.sleep(0.2)
"""
"""Leaves chains of processes: each starts the next one, and ends."""
_LONGEST_PAUSE = """
import os, time
ticks = [float(line) for line in open("ticks")] if os.path.exists("ticks") else [0.0]
ticks.append(time.monotonic())
print(max(later - tick for tick, later in zip(ticks, ticks[1:])))
"""
_GROWING = f"""
import os, time
x = 1
for _ in range(6):
    if os.fork() == 0:
        held = bytearray()
        while len(held) < {_MEMORY // 4}:
            held += b"x" * (1 << 20)
        time.sleep(100)
"""


def _sessions(sandbox: SessionSandbox) -> None:
    """A session keeps variables and files, also after errors; sessions are separate."""
    session, other = sandbox.session(timeout=60.0), sandbox.session(timeout=5.0)
    require(isinstance(session, SandboxSession), "session() must return a SandboxSession")
    pieces = (
        ("x = 20\nopen('kept', 'w').write('file')", 0, ""),
        ("x += 1\nprint(x)\n1 / 0", 1, "21\n"),
        ("import sys; x += 1; sys.exit(4)", 4, ""),
        ("def", 1, ""),
        ("print(x, open('kept').read())", 0, "22 file\n"),
    )
    for source, status, stdout in pieces:
        execution = session.run(source)
        require(
            (execution.exit_status, execution.stdout) == (status, stdout), f"{source}: {execution}"
        )
    require("NameError" in other.run("x").stderr, "a session sees the variables of another")
    found = other.run("import os; print(os.path.exists('kept'))").stdout
    require(found == "False\n", "a session sees the files of another")
    asyncio.run(other.arun("y = 'kept'"))
    found = asyncio.run(other.arun("print(y)")).stdout
    require(found == "kept\n", f"asynchronous runs in a session printed {found!r}")
    session.close()
    session.close()
    raises(SandboxError, lambda: session.run("pass"), "run on a closed session")
    require(other.run("print(1)").stdout == "1\n", "closing one session has ended another")
    sandbox.close()
    raises(SandboxError, lambda: other.run("pass"), "run in a session of a closed sandbox")


def _session_limits(sandbox: SessionSandbox) -> None:
    """A run that meets a limit ends the session's process; the stderr of the next run says so."""
    session = sandbox.session(timeout=5.0, output_limit=1000)
    session.run("x = 1")
    for source, limit in (
        ("while True: pass", "wall_time"),
        ("while True: print('x' * 100)", "output"),
    ):
        execution = session.run(source, timeout=0.5 if limit == "wall_time" else None)
        require(execution.limit == limit, f"{source!r} returned {execution}")
        execution = session.run("print('x' in globals())")
        require(execution.stdout == "False\n", f"variables outlive {limit}: {execution}")
        require(
            execution.stderr, "the stderr of the run after a limit must say that the state is lost"
        )
        require(
            session.run("print(2)").stderr == "", "the loss of the state must be reported only once"
        )
        session.run("x = 1")
    execution = session.run("import os; os._exit(3)")
    require(execution.exit_status == 3, f"os._exit(3) returned {execution}")
    require(session.run("print('on')").stdout == "on\n", "a session cannot be used after os._exit")
    session.close()


def _session_pauses(sandbox: SessionSandbox) -> None:
    """Between runs nothing of a session goes on, not even processes that it has left behind."""
    with contextlib.closing(sandbox.session(timeout=60.0)) as session:
        require(session.run(_TICKING).exit_status == 0, "a session that forks cannot run")
        time.sleep(_IDLE_SECONDS)
        execution = session.run(_LONGEST_PAUSE)
        require(execution.exit_status == 0, f"{_LONGEST_PAUSE!r} returned {execution}")
        pause = float(execution.stdout)
        require(
            pause > _IDLE_SECONDS / 2,
            f"its processes paused for {pause:.2f} s at most in {_IDLE_SECONDS:.2f} s of idling",
        )


def _session_memory(sandbox: SessionSandbox) -> None:
    """All processes of a session together have its limit of memory; more ends the session."""
    with contextlib.closing(sandbox.session(timeout=60.0, memory=_MEMORY)) as session:
        ended = session.run(_GROWING).limit == "memory"
        for _ in range(_PIECES):
            if not ended:
                execution = session.run("import time; time.sleep(0.1); print('x' in globals())")
                ended = execution.limit == "memory" or execution.stdout == "False\n"
        require(ended, f"six processes of {_MEMORY >> 22} MiB each live with {_MEMORY >> 20} MiB")
        require(session.run("print(2)").stdout == "2\n", "a session cannot be used after the limit")


def _session_snapshots(sandbox: SessionSandbox) -> None:
    """A snapshot holds the session's state; any session can restore it, more than once."""
    session, twin = sandbox.session(), sandbox.session()
    session.run("x = [1]")
    snapshot = session.snapshot()
    require(isinstance(snapshot, bytes), f"snapshot() returned a {type(snapshot).__name__}")
    session.run("x.append(2)")
    twin.run("y = 1")
    for restored in (twin, session, twin):
        restored.restore(snapshot)
        found = restored.run("x.append(3); print(x, 'y' in globals())").stdout
        require(found == "[1, 3] False\n", f"restored to x = [1], then appended 3: {found}")
    for bad in (b"", b"\xff", b"[]", b"null"):
        raises(SnapshotError, functools.partial(twin.restore, bad), f"restore({bad!r})")
    require(twin.run("print(x)").stdout == "[1, 3]\n", "a failed restore has changed the session")
    twin.restore(sandbox.session().snapshot())
    require("NameError" in twin.run("x").stderr, "the snapshot of a new session must be empty")
    session.close()
    twin.close()


def raises(expected: type[Exception], act: Callable[[], object], what: str) -> None:
    """Require that ``act`` raises ``expected``; ``what`` describes the call in the message."""
    try:
        act()
    except expected:
        return
    require(condition=False, message=f"{what} must raise {expected.__name__}")


SESSION_CHECKS: dict[str, Callable[[SessionSandbox], None]] = {
    "sessions": _sessions,
    "session_limits": _session_limits,
    "session_pauses": _session_pauses,
    "session_memory": _session_memory,
    "session_snapshots": _session_snapshots,
}
"""Checks by name; the docstring of each says what it requires."""
