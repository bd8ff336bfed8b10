"""The places of a server: each environment that it holds takes one, first come, first served."""

import asyncio
from collections import deque

from gem_serve.errors import CapacityError

__all__ = ["Places"]


class Places:
    """Counts the environments, and lets sessions wait for a place in the order in which they came.

    Args:
        most: The number of places.
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
        """The number of sessions that wait for a place."""
        return sum(not one.done() for one in self._queue)

    def join(self) -> "asyncio.Future[None]":
        """Return a future that is done as soon as its owner has a place."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.is_full:
            self._queue.append(place)
        else:
            self.taken += 1
            place.set_result(None)
        return place

    async def get(self, place: "asyncio.Future[None]", seconds: float) -> None:
        """Wait for a place.

        Args:
            place: The future of ``join``.
            seconds: Most seconds to wait.

        Raises:
            CapacityError: There was no place in time, or the server is about to end.
        """
        try:
            await asyncio.wait([place], timeout=seconds)
        except asyncio.CancelledError:
            if place.done() and place.exception() is None:
                self.give_back()
            place.cancel()
            raise
        if place.done():
            return place.result()
        place.cancel()
        self._queue.remove(place)
        raise self.full()

    def give_back(self) -> None:
        """Free a place; the session that has waited longest gets it."""
        while self._queue:
            if not (place := self._queue.popleft()).done():
                place.set_result(None)
                return
        self.taken -= 1

    def refuse(self, error: CapacityError) -> None:
        """Send away all that wait."""
        while self._queue:
            if not (place := self._queue.popleft()).done():
                place.set_exception(error)

    def full(self) -> CapacityError:
        """Return the error that there is no place."""
        return CapacityError(
            f"The server is full: it has {self.most} sessions (--max-envs). "
            f"Try again when one has ended."
        )
