"""The processes below one: find them, stop them, and see whether they stay stopped.

A signal reaches only processes that were found. One that forks and exits is gone before the signal
arrives, and its child was not found. So stopping repeats: signal everything, and look again, until
two listings in a row show the same processes and all of them at rest. A process that nobody
continues stays stopped, and cannot fork.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import time
from collections.abc import Callable

__all__ = ["ProcessStopper", "children", "descendants"]

STOP_SECONDS = 2.0
AT_REST = frozenset(b"TtZXxD")
"""Stopped, dead, or in an uninterruptible call, such as ``vfork``, which ends in being stopped."""


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    if not kernel_lists_children():
        return family().get(pid, [])
    found: list[int] = []
    for task in tasks(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb") as file:
            found += map(int, file.read().split())
    return found


def descendants(pid: int) -> list[int]:
    """Return the descendants of a process that can be found at this moment."""
    below: list[int] = []
    rest = children(pid)
    while rest:
        below.append(rest.pop())
        rest += children(below[-1])
    return below


@functools.cache
def kernel_lists_children() -> bool:
    """Return whether this kernel has the files ``/proc/*/task/*/children``."""
    return os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def family() -> dict[int, list[int]]:
    """Return the children of all processes; empty where there is no ``/proc``."""
    found: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                found.setdefault(parent, []).append(int(name))
    return found


def tasks(pid: int) -> list[str]:
    """Return the threads of a process, none if it is gone."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def is_at_rest(pid: int) -> bool:
    """Return whether no thread of a process can run; False if it has just gone."""
    threads = tasks(pid)
    try:
        return bool(threads) and all(state(pid, thread) in AT_REST for thread in threads)
    except OSError:
        return False


def state(pid: int, thread: str) -> int:
    """Return the letter of a thread's state."""
    with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0][0]


class ProcessStopper:
    """Stops processes and continues them.

    Args:
        processes: Lists the processes that exist at this moment.
    """

    def __init__(self, processes: Callable[[], list[int]]) -> None:
        self.processes = processes

    def stop(self) -> bool:
        """Stop all processes; return False if some went on for ``STOP_SECONDS`` nevertheless."""
        end = time.monotonic() + STOP_SECONDS
        before: set[int] | None = None
        while True:
            found = self.send_to_all(signal.SIGSTOP)
            if not all(map(is_at_rest, found)):
                before = None
            elif before == set(found):
                return True
            else:
                before = set(found)
            if time.monotonic() > end:
                return False
            time.sleep(0)

    def are_stopped(self) -> bool:
        """Return whether all processes are still stopped."""
        return all(map(is_at_rest, self.processes()))

    def resume(self) -> None:
        """Continue all processes."""
        self.send_to_all(signal.SIGCONT)

    def send_to_all(self, number: int) -> list[int]:
        """Send a signal to all processes; return them."""
        found = self.processes()
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return found
