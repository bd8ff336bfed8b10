"""The event loop of a ``Rollout``, which the first Ctrl-C does not break.

This is what ``asyncio.Runner`` does: a handler is there only while it is needed, the first Ctrl-C
cancels the task that the loop runs, and the second is raised. But the first one is never raised in
the loop's own code, where it would lose a callback, and so an episode. A step that runs in the
loop's thread has a second to return; then it is broken by a ``CancelledError``.
"""

import _thread
import asyncio
import contextlib
import functools
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any

from gem_core.background import DaemonExecutor
from gem_rollout.episodes.threads import GRACE

__all__ = ["RunLoop"]

_TICK = 1.0
"""Seconds after which a signal is handled that arrived just before the loop fell asleep."""


class RunLoop:
    """The event loop of a run.

    Args:
        interrupt: Called by the first Ctrl-C; returns whether the thread is in a step, and not in
            the loop's own code.
    """

    def __init__(self, interrupt: Callable[[], bool]) -> None:
        self.interrupted = False
        """Whether Ctrl-C was noted, and is still to be raised."""
        self.in_a_hurry = False
        """Whether a second Ctrl-C was raised."""
        self._interrupt_run = interrupt
        self._process = os.getpid()
        self._breaks_step = False
        self._waiting: asyncio.Task[bool] | None = None

    @functools.cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which is made where Ctrl-C is noted."""
        loop = _new_loop()
        _tick(loop)
        return loop

    @property
    def is_running(self) -> bool:
        """Whether a thread is in the loop."""
        return self._loop.is_running()

    @property
    def is_mine(self) -> bool:
        """Whether this thread is in the loop."""
        return self._loop is asyncio.get_running_loop()

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Note Ctrl-C in the block, as ``note`` does."""
        is_noted = self.note()
        try:
            yield
        finally:
            if is_noted:
                self._leave()

    def note(self) -> bool:
        """Note Ctrl-C until ``end``, also while the caller works between two trajectories.

        Returns:
            False if this is not the main thread, or somebody else handles Ctrl-C.
        """
        handler = signal.getsignal(signal.SIGINT)
        is_free = handler is signal.default_int_handler or handler is _handle
        if not _is_main() or not is_free:
            return False
        signal.signal(signal.SIGINT, _handle)
        _noting.append(self)
        return True

    def _leave(self) -> None:
        with contextlib.suppress(ValueError):  # the run has ended in the block
            _noting.remove(self)
        if not _noting and _is_main() and signal.getsignal(signal.SIGINT) is _handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C.

        Raises:
            KeyboardInterrupt: This is the second one, or this is a fork.
            asyncio.CancelledError: The thread is still in the step of the first one.
        """
        if os.getpid() != self._process:
            signal.default_int_handler(number, frame)
        if self._breaks_step:
            self._breaks_step = False
            if self._interrupt_run():
                raise asyncio.CancelledError
            return
        if self.interrupted:
            self.in_a_hurry = True
            signal.default_int_handler(number, frame)
        self.interrupted = True
        self.wake()
        if self._interrupt_run():
            # The handler may have interrupted the start of a thread, whose locks are then taken.
            _thread.start_new_thread(self._break_step, ())

    def _break_step(self) -> None:
        time.sleep(GRACE)
        if self._interrupt_run() and self.is_running:
            self._breaks_step = True
            _send_ctrl_c()

    def wait(self, work: Coroutine[Any, Any, bool]) -> bool:
        """Return the result of a coroutine; False if Ctrl-C or ``wake`` interrupted it."""
        self._waiting = self._loop.create_task(work)
        if self.interrupted:  # just now
            self._waiting.cancel()
        try:
            return self._loop.run_until_complete(self._waiting)
        except asyncio.CancelledError:
            return False
        finally:
            self._waiting = None

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end, which only a second Ctrl-C interrupts."""
        self._loop.run_until_complete(work)

    def wake(self) -> None:
        """Interrupt the wait, also that of another thread."""
        task = self._waiting
        if task is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(task.cancel)

    def close(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine that ends the run, and close the loop."""
        loop = self._loop
        loop.set_exception_handler(lambda *_: None)  # errors of cancelled tasks
        try:
            if self.in_a_hurry:  # what the second Ctrl-C broke may have left a request to stop
                with contextlib.suppress(RuntimeError):
                    loop.run_until_complete(asyncio.sleep(0))
            self.finish(stop())
            if not self.in_a_hurry:
                self.finish(loop.shutdown_asyncgens())
        finally:
            if not loop.is_running():
                loop.close()

    def end(self) -> None:
        """Leave Ctrl-C to others, and raise one that was noted, in the main thread."""
        while self in _noting:
            self._leave()
        if not self.interrupted:
            return
        self.interrupted = False
        if not _is_main():
            if threading.main_thread().is_alive() and not self.in_a_hurry:
                _send_ctrl_c()
        elif not isinstance(sys.exc_info()[1], KeyboardInterrupt):  # or Python has swallowed it
            raise KeyboardInterrupt


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that can be closed in a fork without effect on the parent's.

    A fork that drops the loop closes it, which takes its sockets out of the selector. An epoll
    object would be shared with the parent, which would then never wake up.
    """
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    loop = asyncio.SelectorEventLoop(selectors.PollSelector())
    loop.set_default_executor(DaemonExecutor())
    return loop


def _tick(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_later(_TICK, _tick, loop)


_noting: list[RunLoop] = []
"""The runs that note Ctrl-C; the last one gets it."""


def _handle(number: int, frame: FrameType | None) -> None:
    if not _noting:  # the last one has just ended, or in another thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.default_int_handler(number, frame)
    _noting[-1].interrupt(number, frame)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _send_ctrl_c() -> None:
    """Let the main thread handle Ctrl-C, also if it sleeps."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)
