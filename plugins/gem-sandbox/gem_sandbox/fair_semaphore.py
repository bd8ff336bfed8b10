"""A fair semaphore for threads and event loops."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from typing import Any

from gem_core.lifetimes import Lock
from gem_workers.cancellation import cancellable

__all__ = ["Endable", "FairSemaphore"]

Endable = Callable[[Callable[[], Any]], contextlib.AbstractContextManager[None]]
"""Is told how a wait can be ended, as ``cancellable`` is; and when the wait is over."""


class FairSemaphore:
    """A semaphore whose waiters are served in order; threads and coroutines may share it.

    Args:
        size: The number of slots.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        # Reentrant: the garbage collector may release an abandoned slot at any point.
        self._lock = Lock()
        self._free = size
        self._waiters: deque[tuple[Future[None], Callable[[], None] | None]] = deque()

    @contextlib.contextmanager
    def acquire(
        self, prepare: Callable[[], None] | None = None, endable: Endable = cancellable
    ) -> Iterator[None]:
        """Wait for a slot, and hold it.

        Args:
            prepare: Called if the slot was not free, by the thread that releases it: so the work
                starts before the waiting thread has woken up.
            endable: Is told how the wait can be ended.
        """
        waiter = self._enqueue(prepare)
        try:
            if waiter is not None:
                with endable(waiter.cancel):
                    waiter.result()
        except BaseException:
            self._leave_queue(waiter)
            raise
        try:
            yield
        finally:
            self.release()

    @contextlib.asynccontextmanager
    async def acquire_async(
        self, prepare: Callable[[], None] | None = None, endable: Endable = cancellable
    ) -> AsyncIterator[None]:
        """Wait for a slot without blocking the event loop, and hold it; see ``acquire``."""
        waiter = self._enqueue(prepare)
        try:
            if waiter is not None:
                with endable(waiter.cancel):
                    await asyncio.wrap_future(waiter)
        except BaseException:
            self._leave_queue(waiter)
            raise
        try:
            yield
        finally:
            self.release()

    def _enqueue(self, prepare: Callable[[], None] | None) -> "Future[None] | None":
        with self._lock:
            if self.try_acquire():
                return None
            waiter: Future[None] = Future()
            self._waiters.append((waiter, prepare))
            return waiter

    def _leave_queue(self, waiter: "Future[None] | None") -> None:
        """Stop waiting; release the slot if it was assigned meanwhile."""
        if waiter is not None and not waiter.cancel():
            waiter.result()
            self.release()

    @property
    def has_waiters(self) -> bool:
        """Whether a caller is waiting for a slot."""
        return bool(self._waiters)

    def try_acquire(self) -> bool:
        """Take a slot if one is free, and return whether it was; ``release`` it afterwards."""
        with self._lock:
            if not self._free:
                return False
            self._free -= 1
            return True

    def release(self) -> None:
        """Hand a slot to the caller that has waited longest, or mark it as free."""
        with self._lock:
            while self._waiters:
                waiter, prepare = self._waiters.popleft()
                if waiter.set_running_or_notify_cancel():
                    break
            else:
                self._free += 1
                return
        try:
            if prepare is not None:
                prepare()
        finally:
            waiter.set_result(None)
