"""An event loop in a separate thread, which keeps the connections of the process.

Connections belong to an event loop, while environments are stepped from any number of threads and
loops. So the code that keeps connections runs here, once per process, and synchronous and
asynchronous callers wait for it. The thread starts with the first call and ends with the
interpreter; a fork of the process starts its own.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from gem_core.errors import ClosedError, GemError
from gem_core.lifetimes import Lifetime, Lock
from gem_workers.cancellation import cancellable

__all__ = ["before_exit", "close_with", "is_running", "is_this_thread", "run", "start", "wait_for"]

Result = TypeVar("Result")
_EXIT_SECONDS = 10.0
"""Servers that were started may take some seconds to end."""
_CANCEL_SECONDS = 2.0
_WAIT_SECONDS = 0.5
"""A signal that arrives just before a wait does not end it, and is handled after it."""

Close = Callable[[], Coroutine[Any, Any, None]]


class _Background:
    """The event loop of a process, and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="gem-tools", daemon=True)
        self.thread.start()
        self.lifetime = Lifetime(self, _end, self.loop, self.thread, what="event loop of tools")


_lock = Lock()
_current: _Background | None = None
_closers: list[Close] = []
_of_parents: list[_Background] = []
"""Loops of parent processes: if they were freed, a fork would change what the parent waits for."""


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background and wait for its result.

    Raises:
        GemError: It was called in the background thread, where it would wait forever.
        ClosedError: The interpreter is ending.
    """
    if is_this_thread():
        coroutine.close()
        raise GemError(
            "A tool was called from the background thread, perhaps in a handler. Make the handler "
            "a coroutine function, and await the tool's arun."
        )
    future = start(coroutine)
    try:
        with cancellable(future.cancel):
            while not future.done():
                wait([future], _WAIT_SECONDS)
            return future.result()
    except BaseException:
        future.cancel()  # the waiting thread was interrupted
        raise


async def wait_for(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background without blocking the caller's event loop."""
    return await asyncio.wrap_future(start(coroutine))


def start(coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Start a coroutine in the background; cancelling the future cancels it.

    Raises:
        ClosedError: The interpreter is ending.
    """
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _running().loop)
    except BaseException:
        coroutine.close()
        raise


def is_running() -> bool:
    """Return whether the background has started and not ended."""
    current = _current
    return current is not None and current.lifetime.is_open


def is_this_thread() -> bool:
    """Return whether the caller runs in the background thread."""
    current = _current
    return current is not None and threading.current_thread() is current.thread


def before_exit(close: Close) -> None:
    """Await ``close`` in the background before the process ends."""
    _closers.append(close)


def close_with(owner: object, close: Close) -> None:
    """Await ``close`` in the background when the owner is dropped, or before the process ends.

    Args:
        owner: The owner, to which ``close`` must not refer.
        close: Closes what it holds.
    """
    before_exit(close)
    Lifetime(owner, _close_soon, close, what="connection", at_exit=False)


def _close_soon(close: Close) -> None:
    with contextlib.suppress(ValueError, ClosedError):  # the process ends, and it has been closed
        _closers.remove(close)
        wait([start(close())], _CANCEL_SECONDS)  # so that the end of the process waits for it too


def _running() -> _Background:
    global _current  # noqa: PLW0603 - one for each process
    with _lock:
        if _current is None:
            _current = _Background()
        _current.lifetime.check()
        return _current


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Close everything within ``_EXIT_SECONDS``, and end the thread."""
    closing = asyncio.run_coroutine_threadsafe(_close_all(), loop)
    wait([closing], _EXIT_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_CANCEL_SECONDS)
    if not thread.is_alive():
        loop.close()


async def _close_all() -> None:
    closing: list[Awaitable[None]] = [close() for close in _closers]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_EXIT_SECONDS - _CANCEL_SECONDS):
            await asyncio.gather(*closing, return_exceptions=True)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_CANCEL_SECONDS / 2)


def _forget() -> None:
    """Reset in a fork of the process: threads and connections stay with the parent."""
    global _current  # noqa: PLW0603 - one for each process
    if _current is not None:
        _of_parents.append(_current)
    _current = None
    _closers.clear()


os.register_at_fork(after_in_child=_forget)
