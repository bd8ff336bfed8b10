"""The event loop of a ``Rollout``, which the first Ctrl-C does not break.

A ``KeyboardInterrupt`` inside the loop's own code can lose a callback, and then the loop waits for
ever. So the first Ctrl-C is only noted, also while the caller works between two trajectories, and
the task that the loop runs is cancelled. A step that runs in the loop's thread has a second to
return; then it is broken by a ``CancelledError``. The second Ctrl-C is raised.
"""

import _thread
import asyncio
import contextlib
import os
import selectors
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any

from gem_core.background import DaemonExecutor
from gem_rollout.episodes.runner import KEEPS_VALUES
from gem_rollout.episodes.threads import GRACE

__all__ = ["RunLoop"]


class RunLoop:
    """The event loop of a run.

    Args:
        owner: The object that users hold; once it is dropped, Ctrl-C is no longer noted for it.
        interrupt: Called by the first Ctrl-C; returns whether the thread is in a step, and not in
            the loop's own code.
    """

    def __init__(self, owner: object, interrupt: Callable[[], bool]) -> None:
        self.interrupted = False
        """Whether Ctrl-C was noted, and is still to be raised."""
        self.in_a_hurry = False
        """Whether a second Ctrl-C was raised."""
        self._owner = weakref.ref(owner, _stop_listening)
        self._interrupt_run = interrupt
        self._breaks_step = False
        self._waiting: asyncio.Task[bool] | None = None
        self._at_close = contextlib.ExitStack()
        self._loop = _new_loop()
        self._sent = -1
        if sys.platform != "win32":  # whose loops wake up at signals themselves
            received, sent = socket.socketpair()
            for one in (received, sent):
                one.setblocking(False)
                self._at_close.enter_context(one)
            self._sent = sent.fileno()
            self._loop.add_reader(received, received.recv, 4096)

    @property
    def is_running(self) -> bool:
        """Whether a thread is in the loop."""
        return self._loop.is_running()

    @property
    def is_mine(self) -> bool:
        """Whether this thread is in the loop."""
        return self._loop is asyncio.get_running_loop()

    @property
    def is_listening(self) -> bool:
        """Whether Ctrl-C is still this run's."""
        return self._owner() is not None and not self._loop.is_closed()

    def listen(self) -> None:
        """Let the next Ctrl-C be noted, if this is the main thread and nobody else handles it."""
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, _handle)
        elif handler is not _handle:
            return
        _listening[:] = [one for one in _listening if one is not self] + [self]

    def wait(self, work: Coroutine[Any, Any, bool]) -> bool:
        """Return the result of a coroutine; False if Ctrl-C or ``wake`` interrupted it."""
        self._waiting = self._loop.create_task(work)
        if self.interrupted:  # just now
            self._waiting.cancel()
        try:
            self._run(self._waiting)
            return self._waiting.result()
        except asyncio.CancelledError:
            return False
        finally:
            self._waiting = None

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end, which only a second Ctrl-C interrupts."""
        self._run(work)

    def _run(self, work: Any) -> Any:
        with self._woken_by_signals():
            return self._loop.run_until_complete(work)

    @contextlib.contextmanager
    def _woken_by_signals(self) -> Iterator[None]:
        """Wake the loop also at a signal that arrives just before it falls asleep."""
        if self._sent < 0 or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.set_wakeup_fd(self._sent, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)

    def wake(self) -> None:
        """Interrupt the wait of another thread."""
        task = self._waiting
        if task is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(task.cancel)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C.

        Raises:
            KeyboardInterrupt: This is the second one.
            asyncio.CancelledError: The thread is still in the step of the first one.
        """
        if self._breaks_step:
            self._breaks_step = False
            is_in_step = self._interrupt_run()
            if is_in_step and (frame is None or frame.f_code not in KEEPS_VALUES):
                raise asyncio.CancelledError
            return
        if self.interrupted:
            self.in_a_hurry = True
            signal.default_int_handler(number, frame)
        self.interrupted = True
        if self._waiting is not None:
            self._waiting.cancel()
            self._loop.call_soon_threadsafe(lambda: None)  # it may be asleep
        if self._interrupt_run():
            # The handler may have interrupted the start of a thread, whose locks are then taken.
            _thread.start_new_thread(self._break_step, ())

    def _break_step(self) -> None:
        time.sleep(GRACE)
        if self._interrupt_run() and self.is_listening:
            self._breaks_step = True
            _send_ctrl_c()

    def close(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine that ends the run, and close the loop."""
        loop = self._loop
        loop.set_exception_handler(lambda *_: None)  # errors of cancelled tasks
        try:
            if self.in_a_hurry:  # what the second Ctrl-C broke may have left a request to stop
                with contextlib.suppress(RuntimeError):
                    self._run(asyncio.sleep(0))
            self.finish(stop())
            if not self.in_a_hurry:
                self.finish(loop.shutdown_asyncgens())
        finally:
            if not loop.is_running():
                loop.close()
            self._at_close.close()

    def raise_interrupt(self) -> None:
        """Raise the Ctrl-C that was noted, if there was one, in the main thread."""
        _stop_listening()
        if not self.interrupted or self.in_a_hurry:
            return
        self.interrupted = False
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        if threading.main_thread().is_alive():
            _send_ctrl_c()


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


_listening: list[RunLoop] = []
"""The loops that the main thread has waited for, the last one at the end."""


def _handle(number: int, frame: FrameType | None) -> None:
    """Interrupt the run that waits, or else the last one; without runs, act as Python does."""
    _stop_listening()
    if not _listening:
        signal.default_int_handler(number, frame)
    running = [one for one in _listening if one.is_running]
    (running or _listening)[-1].interrupt(number, frame)


def _stop_listening(_: object = None) -> None:
    """Forget runs that have ended or were dropped; after the last one, restore the handler."""
    if threading.current_thread() is not threading.main_thread():
        return
    _listening[:] = [one for one in _listening if one.is_listening]
    if not _listening and signal.getsignal(signal.SIGINT) is _handle:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _send_ctrl_c() -> None:
    """Let the main thread handle Ctrl-C, also if it sleeps."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)


def _after_fork() -> None:
    _listening.clear()
    _stop_listening()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
