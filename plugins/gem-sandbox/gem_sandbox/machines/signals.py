"""Signals to the processes of a machine; a kill waits until they have ended."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Sequence

__all__ = ["send_signal"]

_PATIENCE = 2.0
"""Seconds that a kill waits: a process in an uninterruptible call ends later."""


def send_signal(number: int, pids: Sequence[int], *, group: int | None = None) -> None:
    """Send a signal; if it is SIGKILL, wait until the processes have ended.

    Args:
        number: The signal.
        pids: The processes.
        group: Their process group, if it is to be sent to all of it in one call.
    """
    kills = number == signal.SIGKILL
    with contextlib.ExitStack() as stack:
        descriptors = []
        for pid in pids if kills else ():
            with contextlib.suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(pid))
                stack.callback(os.close, descriptors[-1])
        if group is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
        for pid in pids if group is None else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        _wait(descriptors)


def _wait(descriptors: list[int]) -> None:
    deadline = time.monotonic() + _PATIENCE
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    left = len(descriptors)
    while left and (seconds := deadline - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(seconds * 1000):
            poll.unregister(descriptor)
            left -= 1
