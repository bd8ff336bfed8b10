"""Sandboxes whose processes are those of a pool that equal sandboxes share."""

import asyncio
import contextlib
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from gem_core.errors import SandboxError
from gem_core.lifetimes import Lifetime, Lock
from gem_sandbox.shared_pools import Pool, shared_pools
from gem_workers.base_sandbox import BaseSandbox, ReplaySession
from gem_workers.cancellation import Cancellation, cancellable

__all__ = ["PooledSandbox"]

P = TypeVar("P", bound=Pool)
S = TypeVar("S", bound=ReplaySession)


class PooledSandbox(BaseSandbox, Generic[P]):
    """The base class of sandboxes with a shared pool, which is leased on first use."""

    def __init__(self) -> None:
        self._calls = Cancellation()
        self._sessions: weakref.WeakSet[ReplaySession] = weakref.WeakSet()
        self._lock = Lock()
        self._pool: P | None = None
        self._keys: list[Hashable] = []
        self._lifetime = Lifetime(
            self,
            _release,
            *(self._calls, self._sessions, self._lock, self._keys),
            what="sandbox",
            error=SandboxError,
        )

    def check_open(self) -> None:
        """Check that the sandbox can be used.

        Raises:
            ForkError: This is a fork of the process that made it.
            SandboxError: It is closed.
        """
        self._lifetime.check()

    def close(self) -> None:
        """End everything that runs, within some seconds; may be called twice.

        Calls and sessions of other threads end with ``SandboxError``. In a fork, it does nothing.
        """
        super().close()
        self._lifetime.end()

    def leased(self, key: Hashable, make: Callable[[], P]) -> P:
        """Return the pool; lease it on first use."""
        self.check_open()
        if self._pool is None:
            with self._lock:
                self.check_open()
                if self._pool is None:
                    self._pool = shared_pools.lease(key, make)
                    self._keys.append(key)
        return self._pool

    def opened(self, session: S) -> S:
        """Return a new session, which ends with the sandbox."""
        self._sessions.add(session)
        try:
            self.check_open()
        except SandboxError:
            session.close()
            raise
        return session

    @contextlib.contextmanager
    def endable(self, end: Callable[[], Any]) -> Iterator[None]:
        """Let ``close`` end what the block waits for, and a cancellation of the caller's thread.

        Args:
            end: Ends the wait; see ``cancellable``.

        Raises:
            SandboxError: The sandbox was closed, before or in the block.
        """
        try:
            with cancellable(end), self._calls.on_cancel(end):
                yield
        except asyncio.CancelledError:
            self.check_open()
            raise


def _release(
    calls: Cancellation, sessions: Iterable[ReplaySession], lock: Lock, keys: list[Hashable]
) -> None:
    calls.cancel()
    for session in list(sessions):
        session.close()
    with lock:  # so that nobody is about to lease
        for key in keys:
            shared_pools.release(key)
