"""Forks of a test process, as a data loader makes them."""

import os
import select
import signal
import traceback
from collections.abc import Callable

__all__ = ["in_fork"]

_SECONDS = 60.0


def in_fork(check: Callable[[], object]) -> str:
    """Return the ``repr`` of what a function returns in a fork of this process.

    The fork ends without the handlers of its exit. One that hangs is killed.

    Raises:
        AssertionError: The function raised, or did not return.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = f"+{check()!r}"
        except BaseException:
            said = f"-{traceback.format_exc()}"
        finally:
            os.write(write, said.encode()[:60_000])
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        answers = select.select([file], [], [], _SECONDS)[0]
        if not answers:
            os.kill(pid, signal.SIGKILL)
        said = file.read().decode() if answers else "-It did not return."
    os.waitpid(pid, 0)
    assert said.startswith("+"), said[1:]
    return said[1:]
