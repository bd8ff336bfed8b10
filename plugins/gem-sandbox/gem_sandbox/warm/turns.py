"""A fair limit on how many things happen at once, for threads and event loops alike."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future

__all__ = ["Turns"]


class Turns:
    """So many turns at once; who waits longest is next.

    Args:
        size: How many.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        # Reentrant: a collection of garbage may end an abandoned turn at any point.
        self._lock = threading.RLock()
        self._free = size
        self._waiters: deque[tuple[Future[None], Callable[[], None] | None]] = deque()

    @contextlib.contextmanager
    def turn(self, begin: Callable[[], None] | None = None) -> Iterator[None]:
        """Wait for a turn, and have it.

        Args:
            begin: Called, if the turn had to be waited for, by the thread that passes it on, so
                that nothing stands still until the one that waits has woken up.
        """
        waiter = self._enqueue(begin)
        try:
            if waiter is not None:
                waiter.result()
        except BaseException:
            self._leave_queue(waiter)
            raise
        try:
            yield
        finally:
            self.give_back()

    @contextlib.asynccontextmanager
    async def turn_async(self, begin: Callable[[], None] | None = None) -> AsyncIterator[None]:
        """Do as ``turn`` does, without blocking the running event loop."""
        waiter = self._enqueue(begin)
        try:
            if waiter is not None:
                await asyncio.wrap_future(waiter)
        except BaseException:
            self._leave_queue(waiter)
            raise
        try:
            yield
        finally:
            self.give_back()

    def _enqueue(self, begin: Callable[[], None] | None) -> "Future[None] | None":
        with self._lock:
            if self.take_free():
                return None
            waiter: Future[None] = Future()
            self._waiters.append((waiter, begin))
            return waiter

    def _leave_queue(self, waiter: "Future[None] | None") -> None:
        """Give up waiting; pass on the turn if it came meanwhile."""
        if waiter is not None and not waiter.cancel():
            waiter.result()
            self.give_back()

    @property
    def are_wanted(self) -> bool:
        """Whether somebody waits for one."""
        return bool(self._waiters)

    def take_free(self) -> bool:
        """Take a turn, to be given back, if one is free; tell whether it was."""
        with self._lock:
            if not self._free:
                return False
            self._free -= 1
            return True

    def give_back(self) -> None:
        """Pass a turn on to who waits longest, or have it free."""
        with self._lock:
            while self._waiters:
                waiter, begin = self._waiters.popleft()
                if waiter.set_running_or_notify_cancel():
                    break
            else:
                self._free += 1
                return
        try:
            if begin is not None:
                begin()
        finally:
            waiter.set_result(None)
