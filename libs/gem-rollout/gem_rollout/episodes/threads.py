"""Threads for steps that block; a step can be cancelled, or its thread abandoned.

A cancelled step ends if it waits for something that can be ended, such as a sandbox or a server
(``gem_workers.cancellable``). A thread whose step goes on nevertheless is abandoned.
The interpreter waits at exit for the threads of ``concurrent.futures``, so a step that hangs would
keep it from ending.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from gem_core.lifetimes import Lock
from gem_workers.cancellation import Cancellation

__all__ = ["GRACE", "Threads", "wait_through"]

Result = TypeVar("Result")
_Task = tuple[Callable[[], Any], "asyncio.Future[Any]", Cancellation]

GRACE = 1.0
"""Seconds in which a cancelled step must end."""


async def wait_through(
    futures: Iterable["asyncio.Future[Any]"],
    seconds: float,
    in_a_hurry: Callable[[], bool] = lambda: False,
) -> "set[asyncio.Future[Any]]":
    """Wait for futures and return those that are pending; cancelling this does not end the wait.

    So an event loop that ends, and cancels what is left in it, lets what has begun to end do so.

    Args:
        futures: The futures, at least one.
        seconds: Seconds to wait.
        in_a_hurry: Returns whether a cancellation ends the wait.
    """
    pending, until = set(futures), time.monotonic() + seconds
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(pending, timeout=max(0.0, until - time.monotonic()))
        pending = {one for one in pending if not one.done()}
        if not pending or in_a_hurry() or time.monotonic() >= until:
            return pending


class Threads:
    """A pool that adds a thread whenever none is idle; it belongs to one event loop."""

    def __init__(self) -> None:
        self._idle: list[_Thread] = []
        self._busy: dict[asyncio.Future[Any], _Thread] = {}
        self._started = 0
        self.is_inline = False
        """Whether the thread of the event loop is in ``call_inline``."""
        self.in_a_hurry = False
        """Whether a second cancellation ends the wait for a cancelled call."""

    def run(self, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Call a function in a thread and return a future of its result.

        Cancelling the future does not end the call; see ``cancel`` and ``abandon``.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        thread = self._idle.pop() if self._idle else self._new()
        self._busy[future] = thread
        thread.give(function, future)
        return future

    async def cancel(
        self, future: "asyncio.Future[Any]", afterwards: Callable[[Any], None]
    ) -> bool:
        """End a call, and wait until it has ended; abandon it if it does not end soon.

        Args:
            future: The future from ``run``.
            afterwards: See ``abandon``.

        Returns:
            Whether the thread was abandoned.
        """
        if future in self._busy:
            self._busy[future].cancellation.cancel()
        await wait_through([future], GRACE, lambda: self.in_a_hurry)
        abandoned = self.abandon(future, afterwards)
        if not abandoned:
            await asyncio.wait([future])  # it has just returned
        return abandoned

    def call_inline(self, function: Callable[..., Result], *args: Any) -> Result:
        """Call a function in the thread of the event loop, where Ctrl-C may interrupt it."""
        self.is_inline = True
        try:
            return function(*args)
        finally:
            self.is_inline = False

    def _new(self) -> "_Thread":
        self._started += 1
        thread = _Thread(f"gem-rollout-{self._started}", self._done)
        thread.start()
        return thread

    def _done(self, future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
        thread = self._busy.pop(future, None)
        if thread is not None:
            self._idle.append(thread)
        if future.done():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):  # which a future cannot hold
            future.set_exception(RuntimeError(f"A step raised {error!r}."))
        else:
            future.set_exception(error)

    def abandon(self, future: "asyncio.Future[Any]", afterwards: Callable[[Any], None]) -> bool:
        """Cancel a function and stop waiting for it; its thread ends when it returns.

        Args:
            future: The future from ``run``.
            afterwards: Called in that thread at the end, with the function's result or None.

        Returns:
            False if the function has returned already, and nothing was abandoned.
        """
        thread = self._busy.get(future)
        if thread is None or not thread.abandon(afterwards):
            return False
        del self._busy[future]
        thread.cancellation.cancel()
        return True

    def close(self) -> None:
        """End the idle threads and abandon the others."""
        for future, thread in list(self._busy.items()):
            if not self.abandon(future, lambda _: None):
                self._idle.append(thread)  # it has returned, and `_done` was not called yet
        self._busy.clear()
        for thread in self._idle:
            thread.end()
        for thread in self._idle:
            thread.join(GRACE)
        self._idle.clear()


class _Thread(threading.Thread):
    """A thread that calls one function after another."""

    def __init__(self, name: str, done: Callable[..., None]) -> None:
        super().__init__(name=name, daemon=True)
        self._inbox: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._tell = done
        self._lock = Lock()
        self._returned = True
        self._afterwards: Callable[[Any], None] | None = None
        self.cancellation = Cancellation()
        """That of the current call."""

    def give(self, function: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        self._returned = False
        self.cancellation = Cancellation()
        self._inbox.put((function, future, self.cancellation))

    def end(self) -> None:
        self._inbox.put(None)

    def run(self) -> None:
        while (task := self._inbox.get()) is not None:
            value, error = None, None
            function, future, cancellation = task
            try:
                value = cancellation.run(function)
            except BaseException as problem:  # noqa: BLE001 - raised again where it is awaited
                error = problem
            with self._lock:
                self._returned = True
            if self._afterwards is not None:
                with contextlib.suppress(Exception):
                    self._afterwards(value)
                return
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                future.get_loop().call_soon_threadsafe(self._tell, future, value, error)
            del (
                task,
                function,
                future,
                cancellation,
                value,
                error,
            )  # an idle thread must not keep objects alive

    def abandon(self, afterwards: Callable[[Any], None]) -> bool:
        with self._lock:
            if self._returned:
                return False
            self._afterwards = afterwards
            return True
