"""An event loop in a thread, for synchronous callers of asynchronous functions."""

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["BackgroundLoop"]

Result = TypeVar("Result")


class BackgroundLoop:
    """Runs coroutines for synchronous code, also where another event loop runs.

    The thread starts with the first coroutine. A pickled or forked loop is a new one.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine, which runs in the thread of this loop.

        Ctrl-C cancels it, and waits until it has ended.

        Raises:
            RuntimeError: Called in the thread of the loop itself.
        """
        future, loop = self.start(work), self._running()
        try:
            return future.result()
        except BaseException:
            if not future.done():
                future.cancel()
                asyncio.run_coroutine_threadsafe(_settled(), loop).result(_PATIENCE)
            raise

    def start(self, work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        """Return the future of a coroutine, which runs in the thread of this loop.

        Raises:
            RuntimeError: Called in the thread of the loop itself.
        """
        loop = self._running()
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("A coroutine of a background loop must await, not call run().")
        return asyncio.run_coroutine_threadsafe(work, loop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid() or self._loop.is_closed():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="gem-background", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """End the loop; what still runs in it is cancelled. May be called twice."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None or self._pid != os.getpid() or loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_settled(cancel=True), loop).result(_PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]


_PATIENCE = 5.0
"""Seconds in which cancelled coroutines must end."""


async def _settled(*, cancel: bool = False) -> None:
    """Wait until the other tasks of the loop that are being cancelled have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        if cancel:
            task.cancel()
    ending = [task for task in others if task.cancelling()]
    if ending:
        await asyncio.wait(ending, timeout=_PATIENCE - 1)
