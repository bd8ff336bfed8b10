"""The lifetime of an object that holds processes, sockets, files or threads.

A ``Lifetime`` belongs to the process that made it and ends once: when it is closed, when its owner
is dropped, or when the interpreter ends. In a fork of that process it can neither be used nor
ended. A ``Lock`` is one that a fork finds free. ``docs/lifetimes.md`` says what may rely on it.
"""

import atexit
import logging
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

from gem_core.errors import ClosedError, ForkError, GemError

__all__ = ["Lifetime", "Lock", "call_later"]

_log = logging.getLogger("gem_core")
_EXIT_SECONDS = 10.0


class Lifetime:
    """The life of a resource, from its start to its only release.

    The garbage collector may drop an owner at any point of any thread, also while this thread
    holds a lock that the release needs. So the owner's end is only noted, and a thread of its own
    releases what it held.

    Args:
        owner: The object that users hold; when it is dropped, the resource is released.
        release: Releases the resource; it must not refer to the owner, or that is never dropped.
        args: Its arguments.
        what: The resource in messages, such as ``"machine"``.
        error: What is raised when the resource is used after its end.
        at_exit: Whether the resource is released when the interpreter ends.
    """

    def __init__(
        self,
        owner: object,
        release: Callable[..., object],
        *args: Any,
        what: str,
        error: type[GemError] = ClosedError,
        at_exit: bool = True,
    ) -> None:
        self._release, self._args = release, args
        self._what, self._error, self._at_exit = what, error, at_exit
        self._process = os.getpid()
        _closer.start()
        self._finalizer = weakref.finalize(owner, call_later, self.end)
        self._finalizer.atexit = False
        _open[self] = None

    @property
    def is_open(self) -> bool:
        """Whether the resource can be used: it was not released, and this is its process."""
        return self in _open and self._process == os.getpid()

    def check(self) -> None:
        """Check that the resource can be used.

        Raises:
            ForkError: This is a fork of the process that made the resource.
            GemError: The resource was released; of the class ``error``.
        """
        if self._process != os.getpid():
            raise ForkError(
                f"This {self._what} belongs to process {self._process}, of which this one is a "
                f"fork: make another here."
            )
        if self not in _open:
            raise self._error(f"This {self._what} is closed.")

    def end(self) -> None:
        """Release the resource, unless this is a fork or it is released; may be called twice."""
        if self._process != os.getpid():
            return
        try:
            del _open[self]  # one of several threads succeeds
        except KeyError:
            return
        self._finalizer.detach()
        release, args = self._release, self._args
        del self._release, self._args  # they may keep much alive
        release(*args)


class Lock:
    """A reentrant lock that is free in a fork of the process, whatever thread held it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """Take the lock, and return whether this succeeded; see ``threading.Lock.acquire``."""
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _renew(self) -> None:
        if self._lock.acquire(blocking=False):  # free, or held by the thread that forked
            self._lock.release()
        else:
            self._lock = threading.RLock()


def call_later(function: Callable[..., object], *args: Any) -> None:
    """Have a function called soon, in a thread of its own; errors are logged.

    This takes no lock, so what the garbage collector runs may use it: finalizers, and the end of
    abandoned generators and coroutines. The thread starts with the first ``Lifetime``.
    """
    _closer.calls.put((function, args))


class _Closer:
    """The thread that releases the resources of dropped owners."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]]
        self.calls = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    thread = threading.Thread(target=self._run, name="gem-closer", daemon=True)
                    thread.start()
                    self._thread = thread

    def drain(self) -> None:
        """Wait until resources dropped earlier are released, at most ``_EXIT_SECONDS``."""
        drained = threading.Event()
        self.calls.put((drained.set, ()))
        if self._thread is not None:
            drained.wait(_EXIT_SECONDS)

    def _run(self) -> None:
        while True:
            function, args = self.calls.get()
            _try(function, *args)


def _try(function: Callable[..., object], *args: Any) -> None:
    try:
        function(*args)
    except Exception:  # noqa: BLE001 - nobody is there to catch it
        _log.exception("A resource that its owner has dropped could not be released.")


def _end_all() -> None:
    """End the open lifetimes when the interpreter ends, the newest first."""
    _closer.drain()
    for lifetime in reversed(list(_open)):
        if lifetime._at_exit:  # noqa: SLF001 - of this module
            _try(lifetime.end)


def _after_fork() -> None:
    global _closer  # noqa: PLW0603 - a thread of the parent may hold its locks
    _closer = _Closer()
    for lock in list(_locks):
        lock._renew()  # noqa: SLF001 - of this module


_open: dict[Lifetime, None] = {}
_locks: "weakref.WeakSet[Lock]" = weakref.WeakSet()
_closer = _Closer()
atexit.register(_end_all)
os.register_at_fork(after_in_child=_after_fork)
