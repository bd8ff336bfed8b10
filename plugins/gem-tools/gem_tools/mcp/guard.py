"""Runs a server program, and ends it with all its descendants.

This file runs as a program of its own, between the host and a server:
``python -I -S guard.py COMMAND...``. The server inherits the standard streams, so messages do not
pass through here. When the host closes the server's standard input, or dies, or sends SIGTERM, the
server has ``_EOF_SECONDS`` to exit by itself; then it and its descendants get SIGTERM, and
``_TERM_SECONDS`` later SIGKILL. On Linux the guard adopts orphaned descendants, so that those in
other process groups and sessions are found too.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

_EOF_SECONDS = 0.5
_TERM_SECONDS = 0.3
_POLL_SECONDS = 0.02
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_NOT_STARTED = 127


def main(command: list[str]) -> int:
    """Run a command until it exits or the host hangs up; return its exit status."""
    host = os.getppid()
    stop = _EndSignals()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        server = subprocess.Popen(command, preexec_fn=_die_with_the_guard)  # noqa: PLW1509, S603
    except OSError as error:
        print(f"{command[0]} cannot be started: {error}", file=sys.stderr)  # noqa: T201
        return _NOT_STARTED
    hang_up = select.poll()
    hang_up.register(0, 0)  # reports only that the other end was closed
    while server.poll() is None and not stop.asked and os.getppid() == host:
        if hang_up.poll(_POLL_SECONDS * 1000):
            break
    if not stop.asked:
        _wait(server, _EOF_SECONDS)
    _end_all(server)
    return server.returncode


class _EndSignals:
    """Notes the signals that ask the guard to end."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host handles Ctrl-C
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.asked = True


def _wait(server: "subprocess.Popen[bytes]", seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(seconds)


def _end_all(server: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM and then SIGKILL to all descendants that are left."""
    until = time.monotonic() + _TERM_SECONDS
    _signal_all(signal.SIGTERM, server.pid)
    while _is_left(server) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    while _is_left(server):
        _signal_all(signal.SIGKILL, server.pid)
        time.sleep(_POLL_SECONDS)


def _is_left(server: "subprocess.Popen[bytes]") -> bool:
    """Reap ended processes, and return whether the server or a descendant is left."""
    server.poll()
    with contextlib.suppress(ChildProcessError):
        while server.returncode is not None and os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return server.returncode is None or bool(_descendants(os.getpid()))


def _signal_all(number: int, server: int) -> None:
    for pid in {*_descendants(os.getpid()), server}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants(pid: int) -> list[int]:
    """Return the descendants of a process; empty where the system does not list them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - pathlib is slow to import
            with open(f"/proc/{pid}/task/{task}/children") as file:  # noqa: PTH123 - as above
                for child in file.read().split():
                    found += [int(child), *_descendants(int(child))]
    return found


def _die_with_the_guard() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
