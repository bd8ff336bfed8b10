"""The capacity of a server: each environment takes a slot, first come, first served."""

import asyncio
from collections import deque

from gem_serve.errors import CapacityError

__all__ = ["Capacity"]


class Capacity:
    """Counts the environments, and lets sessions wait for a slot in the order in which they came.

    Args:
        most: The number of slots.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether the next session would have to wait."""
        return self.taken >= self.most or self.waiting > 0

    @property
    def waiting(self) -> int:
        """The number of sessions that wait for a slot."""
        return sum(not one.done() for one in self._queue)

    def join(self) -> "asyncio.Future[None]":
        """Return a future that is done as soon as its owner has a slot."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.is_full:
            self._queue.append(slot)
        else:
            self.taken += 1
            slot.set_result(None)
        return slot

    async def get(self, slot: "asyncio.Future[None]", seconds: float) -> None:
        """Wait for a slot.

        Args:
            slot: The future of ``join``.
            seconds: Most seconds to wait.

        Raises:
            CapacityError: No slot was free in time, or the server is about to end.
        """
        try:
            await asyncio.wait([slot], timeout=seconds)
        except asyncio.CancelledError:
            if slot.done() and slot.exception() is None:
                self.release()
            slot.cancel()
            raise
        if slot.done():
            return slot.result()
        slot.cancel()
        self._queue.remove(slot)
        raise self.full()

    def release(self) -> None:
        """Free a slot; the session that has waited longest gets it."""
        while self._queue:
            if not (slot := self._queue.popleft()).done():
                slot.set_result(None)
                return
        self.taken -= 1

    def refuse(self, error: CapacityError) -> None:
        """Raise an error in all sessions that wait."""
        while self._queue:
            if not (slot := self._queue.popleft()).done():
                slot.set_exception(error)

    def full(self) -> CapacityError:
        """Return the error of a server without a free slot."""
        return CapacityError(
            f"The server is full: it has {self.most} sessions (--max-envs). "
            f"Try again when one has ended."
        )
