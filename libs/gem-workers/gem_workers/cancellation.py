"""Cancel calls that block in a thread.

A thread cannot be interrupted from outside. So code that blocks says how its wait can be ended
(``cancellable``), and the owner of the thread runs it in a ``Cancellation``: ``cancel`` then ends
the wait, and the call raises ``asyncio.CancelledError``, as a cancelled coroutine does. The current
cancellation is a context variable, so ``asyncio.to_thread`` passes it on.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["Cancellation", "cancellable", "run_in_thread"]

Result = TypeVar("Result")
_current: "ContextVar[Cancellation | None]" = ContextVar("cancellation", default=None)


class Cancellation:
    """Ends the blocking calls of the functions that run in it; any thread may cancel it.

    There is no lock: a handler of Ctrl-C may cancel while its own thread is in any method.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._ends: dict[object, Callable[[], Any]] = {}

    def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """Call a function whose blocking calls ``cancel`` ends."""
        before = _current.set(self)
        try:
            return function(*args)
        finally:
            _current.reset(before)

    def cancel(self) -> None:
        """End the blocking calls that are in progress and all that follow; may be repeated."""
        self.cancelled = True
        for end in list(self._ends.values()):
            end()

    @contextlib.contextmanager
    def on_cancel(self, end: Callable[[], Any]) -> Iterator[None]:
        """Call ``end`` if ``cancel`` is called inside the block; see ``cancellable``."""
        key = object()
        self._ends[key] = end
        try:
            self._check()
            yield
            self._check()
        except Exception as error:
            if self.cancelled:
                raise _cancelled() from error
            raise
        finally:
            del self._ends[key]

    def _check(self) -> None:
        if self.cancelled:
            raise _cancelled()


@contextlib.contextmanager
def cancellable(end: Callable[[], Any]) -> Iterator[None]:
    """Let a cancellation of the caller's thread end the waits of the block.

    Args:
        end: Ends the wait. It must return quickly; any thread may call it, at any time in the
            block, and more than once.

    Raises:
        asyncio.CancelledError: The call was cancelled, before or in the block.
    """
    current = _current.get()
    if current is None:
        yield
        return
    with current.on_cancel(end):
        yield


async def run_in_thread(function: Callable[..., Result], *args: Any) -> Result:
    """Call a function as ``asyncio.to_thread`` does; cancelling this ends its blocking calls."""
    import asyncio  # noqa: PLC0415 - most hosts have no event loop

    inner = Cancellation()
    with cancellable(inner.cancel):
        try:
            return await asyncio.to_thread(inner.run, function, *args)
        except asyncio.CancelledError:
            inner.cancel()
            raise


def _cancelled() -> BaseException:
    import asyncio  # noqa: PLC0415 - most hosts have no event loop

    return asyncio.CancelledError("The call was cancelled.")
