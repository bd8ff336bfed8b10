"""Threads that end dropped objects, which may take seconds.

The garbage collector's thread of ``gem_core.lifetimes`` is there for all, so it must not wait. The
end of the interpreter waits for these threads, but not for ever.
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from gem_core.lifetimes import Lifetime, Lock, call_later

__all__ = ["end_in_thread", "prepare"]

_AT_EXIT = 10.0
"""Seconds that the end of the interpreter waits for all threads together."""


class _Endings:
    """The threads of a process."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._lock = Lock()
        self.lifetime = Lifetime(self, _wait, self._threads, self._lock, what="ending")

    def start(self, end: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=end, name="gem-rollout-end", daemon=True)
        with self._lock:  # a thread that is not started cannot be waited for
            self._threads[:] = [one for one in self._threads if one.is_alive()] + [thread]
            thread.start()
        return thread


def _wait(threads: list[threading.Thread], lock: AbstractContextManager[object]) -> None:
    until, drained = time.monotonic() + _AT_EXIT, threading.Event()
    call_later(drained.set)  # a drop may just have been noted
    drained.wait(_AT_EXIT)
    with lock:
        started = list(threads)
    for one in started:
        one.join(max(0.0, until - time.monotonic()))


_endings = _Endings()


def prepare() -> None:
    """Let the interpreter wait at exit; call this before the ``Lifetime`` of an object is made."""
    global _endings  # noqa: PLW0603 - a fork begins anew
    if not _endings.lifetime.is_open:
        _endings = _Endings()


def end_in_thread(end: Callable[[], object]) -> threading.Thread:
    """Start a thread that ends something, and return it."""
    return _endings.start(end)
