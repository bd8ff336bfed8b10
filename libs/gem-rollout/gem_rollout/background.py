"""An event loop in a thread, for synchronous callers of asynchronous functions."""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from gem_core.errors import ClosedError, ForkError
from gem_core.lifetimes import Lifetime, Lock
from gem_rollout.episodes.threads import DaemonExecutor

__all__ = ["BackgroundLoop"]

Result = TypeVar("Result")

_PATIENCE = 5.0
"""Seconds in which cancelled coroutines must end."""
_log = logging.getLogger("gem_rollout")


class BackgroundLoop:
    """Runs coroutines for synchronous code, also where another event loop runs.

    The thread starts with the first coroutine, and ends when the object is closed or dropped. A
    pickled or forked loop is a new one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._begin()

    def _begin(self) -> None:
        self._thread = _Thread()
        self._lifetime = Lifetime(self, self._thread.end, what="background loop")

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine, which runs in the thread of this loop.

        Ctrl-C cancels it, and waits up to 5 seconds until it has ended.

        Raises:
            ClosedError: The loop is closed, or was closed meanwhile.
            RuntimeError: Called in the thread of the loop itself.
        """
        future = self.start(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            self._lifetime.check()
            raise
        except BaseException:
            if not future.done():
                future.cancel()
                self._thread.settle()
            raise

    def start(self, work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        """Return the future of a coroutine, which runs in the thread of this loop.

        Raises:
            ClosedError: The loop is closed.
            RuntimeError: Called in the thread of the loop itself.
        """
        try:
            with self._lock:
                try:
                    self._lifetime.check()
                except ForkError:  # the parent's thread is not here
                    self._begin()
                return self._thread.start(work)
        except BaseException:
            work.close()
            raise

    def close(self) -> None:
        """End the loop; what still runs in it is cancelled. May be called twice.

        Callers that wait for a result get a ``ClosedError``. Coroutines have 5 seconds to end; what
        takes longer is left to its thread, and a warning is logged.
        """
        self._lifetime.end()

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]


class _Thread:
    """The thread and its event loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._futures: set[concurrent.futures.Future[Any]] = set()
        self._is_ended = False

    def start(self, work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        with self._lock:
            if self._is_ended:
                raise ClosedError("This background loop is closed.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(DaemonExecutor())
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="gem-background", daemon=True
                )
                self._thread.start()
            if threading.current_thread() is self._thread:
                raise RuntimeError("A coroutine of a background loop must await, not call run().")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def settle(self) -> None:
        """Wait some seconds until the coroutines that are being cancelled have ended."""
        assert self._loop is not None  # noqa: S101 - one was started
        with contextlib.suppress(TimeoutError, RuntimeError):  # it hangs, or is closed
            asyncio.run_coroutine_threadsafe(_settled(), self._loop).result(_PATIENCE)

    def end(self) -> None:
        with self._lock:
            self._is_ended, loop, thread = True, self._loop, self._thread
        if loop is None or thread is None:
            return
        for future in list(self._futures):
            future.cancel()  # also for those who wait for a coroutine that hangs
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            asyncio.run_coroutine_threadsafe(_ended(), loop)
        if threading.current_thread() is thread:
            return
        thread.join(_PATIENCE)
        if thread.is_alive():
            _log.warning(
                "A coroutine of a background loop did not end within %g seconds after it was "
                "cancelled: its thread was abandoned.",
                _PATIENCE,
            )


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _ended() -> None:
    """Cancel the other tasks of the loop, and stop it."""
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await _settled()
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    loop.stop()


async def _settled() -> None:
    """Wait until the other tasks of the loop that are being cancelled have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    ending = [task for task in others if task.cancelling()]
    if ending:
        await asyncio.wait(ending, timeout=_PATIENCE - 1)
