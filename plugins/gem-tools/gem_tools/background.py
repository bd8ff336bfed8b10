"""An event loop in a separate thread, which keeps the connections of the process.

Connections belong to an event loop, while environments are stepped from any number of threads and
loops. So the code that keeps connections runs here, once per process, and synchronous and
asynchronous callers wait for it. The thread starts with the first call; a fork of the process
starts its own.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from gem_core.errors import GemError
from gem_workers.cancellation import cancellable

__all__ = ["before_exit", "run", "start", "wait_for"]

Result = TypeVar("Result")
_EXIT_SECONDS = 10.0
"""Servers that were started may take some seconds to end."""
_WAIT_SECONDS = 0.5
"""A signal that arrives just before a wait does not end it, and is handled after it."""

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_closers: list[Callable[[], Awaitable[None]]] = []


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background and wait for its result.

    Raises:
        GemError: It was called in the background thread, where it would wait forever.
    """
    if threading.current_thread() is _thread:
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


def before_exit(close: Callable[[], Awaitable[None]]) -> None:
    """Await ``close`` in the background before the process ends."""
    _closers.append(close)


def start(coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Start a coroutine in the background; cancelling the future cancels it."""
    return asyncio.run_coroutine_threadsafe(coroutine, _running_loop())


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread  # noqa: PLW0603 - one for each process
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="gem-tools", daemon=True)
            _thread.start()
        return _loop


async def _close_all() -> None:
    await asyncio.gather(*(close() for close in _closers), return_exceptions=True)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@atexit.register
def _end() -> None:
    if _loop is None or _thread is None:
        return
    closing = asyncio.run_coroutine_threadsafe(_close_all(), _loop)
    try:
        closing.result(_EXIT_SECONDS)
    except TimeoutError:
        closing.cancel()  # the process ends anyway
    _loop.call_soon_threadsafe(_loop.stop)
    _thread.join(_EXIT_SECONDS)
    if not _thread.is_alive():
        _loop.close()


def _forget() -> None:
    """Reset in a fork of the process: threads and connections stay with the parent."""
    global _lock, _loop, _thread
    _lock, _loop, _thread = threading.Lock(), None, None
    _closers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
