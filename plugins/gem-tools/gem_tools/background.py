"""The event loop of tools, which keeps the connections of the process.

It starts with the first call and ends with the interpreter; a fork of the process starts its own.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from gem_core.background import BackgroundLoop, Close
from gem_core.errors import ClosedError, GemError
from gem_core.lifetimes import Lifetime
from gem_workers.cancellation import cancellable

__all__ = ["LOOP", "close_with", "run", "wait_for"]

Result = TypeVar("Result")
_CLOSE_SECONDS = 2.0
_WAIT_SECONDS = 0.5
"""A signal that arrives just before a wait does not end it, and is handled after it."""

LOOP = BackgroundLoop("tools", seconds=10.0)
"""Servers that were started may take some seconds to end."""


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background and wait for its result.

    Raises:
        GemError: It was called in the background thread, where it would wait forever.
        ClosedError: The interpreter is ending.
    """
    if LOOP.is_current:
        coroutine.close()
        raise GemError(
            "A tool was called from the background thread, perhaps in a handler. Make the handler "
            "a coroutine function, and await the tool's arun."
        )
    future = LOOP.start(coroutine)
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
    return await asyncio.wrap_future(LOOP.start(coroutine))


def close_with(owner: object, close: Close) -> None:
    """Await ``close`` in the background when the owner is dropped, or before the process ends.

    Args:
        owner: The owner, to which ``close`` must not refer.
        close: Closes what it holds.
    """
    LOOP.before_end(close)
    Lifetime(owner, _close_soon, close, what="connection", at_exit=False)


def _close_soon(close: Close) -> None:
    with contextlib.suppress(ValueError, ClosedError):  # the process ends, and it has been closed
        LOOP.without(close)
        closing: Future[Any] = LOOP.start(close())
        wait([closing], _CLOSE_SECONDS)  # so that the end of the process waits for it too
