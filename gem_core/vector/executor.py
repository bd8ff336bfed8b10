"""Executors, which run the slots of a vector: the protocol, and the base class."""

import queue
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from gem_core.background import BackgroundLoop
from gem_core.errors import GemError
from gem_core.lifetimes import Lock
from gem_core.maybe_async import is_awaitable
from gem_core.vector.slot import Fault, Slot, perform

__all__ = [
    "CLOSE_SECONDS",
    "Executor",
    "QueueExecutor",
    "Request",
    "Result",
    "check_closed",
    "warn_of_hanging",
]

CLOSE_SECONDS = 5.0
"""What takes longer to end is left behind, or killed."""

Request = tuple[int, Any]
"""Index of a slot, and the argument of the method to call."""
Result = tuple[int, Any]
"""Index of a slot, and the value that the method returned, or a ``Fault``."""


class Executor(Protocol):
    """Calls methods of slots, at most one at a time for each slot."""

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Make the slots; if one cannot be made, close the others and raise its error."""

    def run(self, method: str, requests: Iterable[Request]) -> list[Any]:
        """Call a method of each requested slot and return the results in order."""

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Begin to call a method of each requested slot."""

    def collect(self, minimum: int, timeout: float | None = None) -> list[Result]:
        """Return finished results; wait until there are at least ``minimum``.

        Raises:
            TimeoutError: There are none after ``timeout`` seconds.
        """

    def close(self) -> None:
        """Close the slots and end all threads and processes, in seconds; may be called twice."""


class QueueExecutor:
    """Base of executors: one queue for the results, one event loop for awaitables."""

    def __init__(self) -> None:
        self._slots: dict[int, Slot] = {}
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._loop: BackgroundLoop | None = None
        self._loop_lock = Lock()

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Make the slots."""
        self._make_slots(dict(enumerate(make_slots)))

    def _make_slots(self, make_slots: dict[int, Callable[..., Slot]], **kwargs: Any) -> None:
        try:
            for index, make_slot in make_slots.items():
                self._slots[index] = make_slot(**kwargs)
        except BaseException:
            self.close()
            raise

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Begin to call a method of each requested slot."""
        for index, argument in requests:
            self._perform(index, method, argument)

    def run(self, method: str, requests: Iterable[Request]) -> list[Any]:
        """Call a method of each requested slot and return the results in order."""
        asked = list(requests)
        self.submit(method, asked)
        by_index = dict(self.collect(len(asked)))
        return [by_index[index] for index, _ in asked]

    def _perform(self, index: int, method: str, argument: Any) -> None:
        """Run a request and put its result into the queue; an awaitable's result follows later."""
        value = perform(self._slots[index], method, argument)
        if is_awaitable(value):
            self._put_later(index, value)
        else:
            self._results.put((index, value))

    def _put_later(self, index: int, awaitable: Awaitable[Any]) -> None:
        with self._loop_lock:
            if self._loop is None:
                self._loop = BackgroundLoop("asynchronous environments", seconds=CLOSE_SECONDS)
        self._loop.start(self._put_result(index, awaitable))

    async def _put_result(self, index: int, awaitable: Awaitable[Any]) -> None:
        try:
            self._results.put((index, await awaitable))
        except BaseException as error:  # noqa: BLE001 - somebody waits for an answer
            self._results.put((index, Fault(error)))

    def collect(self, minimum: int, timeout: float | None = None) -> list[Result]:
        """Return finished results; wait until there are at least ``minimum``."""
        results: list[Result] = []
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(results) < minimum:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                results.append(self._results.get(timeout=left))
            except queue.Empty:
                if results:
                    break
                raise TimeoutError(f"No environment finished within {timeout} seconds.") from None
        while not self._results.empty():
            results.append(self._results.get())
        return results

    def close(self) -> None:
        """Close the slots."""
        self._close_loop()
        slots, self._slots = self._slots, {}
        check_closed([perform(slot, "close", None) for slot in slots.values()])

    def _close_loop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()


def check_closed(values: Iterable[Any]) -> None:
    """Raise the first fault of slots that were closed."""
    for value in values:
        if isinstance(value, Fault):
            raise GemError(f"Closing an environment failed: {value.error}") from value.error


def warn_of_hanging(what: str) -> None:
    """Warn that something has not ended in time."""
    warnings.warn(
        f"{what} did not end within {CLOSE_SECONDS:g} seconds, and is left to its thread.",
        RuntimeWarning,
        stacklevel=2,
    )
