"""The contract of sessions, a part of ``check_sandbox``."""

import asyncio
import functools
from collections.abc import Callable

from gem_core.errors import SandboxError, SnapshotError
from gem_core.sandbox import SandboxSession, SessionSandbox
from gem_core.testing.report import require

__all__ = ["SESSION_CHECKS", "raises"]


def _sessions(sandbox: SessionSandbox) -> None:
    """A session keeps variables and files, also after errors; sessions are separate."""
    session, other = sandbox.session(timeout=5.0), sandbox.session(timeout=5.0)
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
    "session_snapshots": _session_snapshots,
}
"""Checks by name; the docstring of each says what it requires."""
