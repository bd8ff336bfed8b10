"""An event loop in a thread of its own, for code that is not asynchronous.

Connections and servers belong to an event loop, while environments are stepped from any number of
threads and loops. What they share runs here, and synchronous and asynchronous callers wait for it.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import queue
import threading
import time
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from gem_core.errors import ClosedError, ForkError
from gem_core.lifetimes import Lifetime, Lock

__all__ = ["BackgroundLoop", "Close", "DaemonExecutor"]

Result = TypeVar("Result")
Close = Callable[[], Coroutine[Any, Any, Any]]


class BackgroundLoop:
    """Runs coroutines for synchronous code, also where another event loop runs.

    The thread starts with the first coroutine, and ends when the object is closed or dropped, or
    when the interpreter ends. A pickled or forked loop is a new one.

    Args:
        name: What runs in it, as a plural, for messages and the name of the thread.
        seconds: Seconds that the functions of ``before_end`` have, and after them the coroutines
            that are cancelled. What takes longer is left to its thread, with a ``RuntimeWarning``.
        loop_factory: Makes the event loop.
    """

    def __init__(
        self,
        name: str = "coroutines",
        *,
        seconds: float = 5.0,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    ) -> None:
        self._options: dict[str, Any]
        self._options = {"name": name, "seconds": seconds, "loop_factory": loop_factory}
        self._lock = Lock()
        self._thread: _Thread | None = None
        self._lifetime: Lifetime

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for a coroutine that runs in the thread of this loop, and return its result.

        Ctrl-C cancels it, and waits some seconds until it has ended.

        Raises:
            ClosedError: The loop is closed, or was closed meanwhile.
            RuntimeError: Called in the thread of the loop itself.
        """
        if self.is_current:
            work.close()
            raise RuntimeError("A coroutine of a background loop must await, not call run().")
        future = self.start(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            self._lifetime.check()
            raise
        except BaseException:
            if not future.done():
                future.cancel()
                self._running().settle()
            raise

    def start(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start a coroutine in the thread of this loop; cancelling the future cancels it.

        Raises:
            ClosedError: The loop is closed.
        """
        try:
            return self._running().start(work)
        except BaseException:
            work.close()
            raise

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        """Have a function called in the thread of this loop, after what was started before.

        Raises:
            ClosedError: The loop is closed.
        """
        self._running().call_soon(function, *args)

    def before_end(self, close: Close) -> None:
        """Await ``close()`` when the loop ends, before what still runs in it is cancelled."""
        self._running().closers.append(close)

    def without(self, close: Close) -> None:
        """Undo ``before_end``.

        Raises:
            ValueError: ``before_end`` was not called, or the loop has ended.
        """
        self._running().closers.remove(close)

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in the thread of this loop."""
        return self._thread is not None and self._thread.is_current

    @property
    def is_running(self) -> bool:
        """Whether the loop can be used, and was used in this process."""
        return self._thread is not None and self._lifetime.is_open

    def close(self) -> None:
        """End the loop; what still runs in it is cancelled. May be called twice.

        Callers that wait for a result get a ``ClosedError``. In the thread of the loop itself, it
        returns before the coroutines have ended.
        """
        with self._lock, contextlib.suppress(ClosedError):
            self._running()
        self._lifetime.end()

    def _running(self) -> "_Thread":
        if self.is_running:  # without the lock, as each step of a vector comes here
            return self._thread  # type: ignore[return-value]
        with self._lock:
            try:
                if self._thread is not None:
                    self._lifetime.check()
                    return self._thread
            except ForkError:  # the parent's thread is not here
                pass
            thread = _Thread(**self._options)
            what = f"event loop of {self._options['name']}"
            self._lifetime = Lifetime(self, thread.end, what=what)
            self._thread = thread
            return thread

    def __getstate__(self) -> dict[str, Any]:
        return self._options

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


class _Thread:
    """The thread and its event loop.

    In a fork it is kept, by its ``Lifetime``: if an event loop were freed there, the sockets of the
    process that runs it would be unregistered.
    """

    def __init__(
        self, name: str, seconds: float, loop_factory: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        self._name, self._seconds, self._factory = name, seconds, loop_factory
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._executor = DaemonExecutor()
        self._futures: set[Future[Any]] = set()
        self.closers: list[Close] = []
        self._is_ended = False

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def start(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        with self._lock:
            future = asyncio.run_coroutine_threadsafe(work, self._started())
            self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        with self._lock:
            self._started().call_soon_threadsafe(function, *args)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._is_ended:
            raise ClosedError(f"This event loop of {self._name} is closed.")
        if self._loop is None:
            self._loop = self._factory()
            self._loop.set_default_executor(self._executor)
            self._thread = threading.Thread(
                target=_serve, args=(self._loop,), name=f"gem-{self._name}", daemon=True
            )
            self._thread.start()
        return self._loop

    def settle(self) -> None:
        """Wait some seconds until the coroutines that are being cancelled have ended."""
        assert self._loop is not None  # noqa: S101 - one was started
        with contextlib.suppress(TimeoutError, RuntimeError):  # it hangs, or is closed
            settling = asyncio.run_coroutine_threadsafe(_settled(), self._loop)
            settling.result(self._seconds)

    def end(self) -> None:
        with self._lock:
            self._is_ended, loop, thread = True, self._loop, self._thread
        if loop is None or thread is None:
            return
        closing = None
        if self.closers:
            closing = asyncio.run_coroutine_threadsafe(_closed(self.closers), loop)
            if not self.is_current:
                concurrent.futures.wait([closing], self._seconds)
        for future in list(self._futures):
            future.cancel()  # also for those who wait for a coroutine that hangs
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            asyncio.run_coroutine_threadsafe(_ended(), loop)
        if not self.is_current:
            self._join(thread)
        if closing is not None and closing.done() and not closing.cancelled():
            closing.result()

    def _join(self, thread: threading.Thread) -> None:
        until = time.monotonic() + self._seconds
        thread.join(self._seconds)
        left = max(0.0, until - time.monotonic())
        calls = concurrent.futures.wait(list(self._executor.running), left)
        if thread.is_alive() or calls.not_done:
            warnings.warn(
                f"The event loop of {self._name} did not end within {self._seconds:g} seconds, and "
                f"is left to its thread.",
                RuntimeWarning,
                stacklevel=2,
            )


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _closed(closers: list[Close]) -> None:
    """Await all closers, and raise the first error."""
    ends = await asyncio.gather(*(close() for close in closers), return_exceptions=True)
    for error in ends:
        if isinstance(error, BaseException):
            raise error


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
        await asyncio.wait(ending)


class DaemonExecutor(ThreadPoolExecutor):
    """Threads for ``asyncio.to_thread``, for which the interpreter does not wait at exit.

    Attributes:
        running: The futures of the calls that have not returned.
    """

    def __init__(self) -> None:
        super().__init__()
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._calls, self._free, self._count = queue.SimpleQueue(), threading.Semaphore(0), 0
        self.running: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Call a function in a thread and return the future of its result."""
        future: Future[Any] = Future()
        self.running.add(future)
        future.add_done_callback(self.running.discard)
        self._calls.put((future, functools.partial(fn, *args, **kwargs)))
        if not self._free.acquire(blocking=False) and self._count < self._max_workers:
            self._count += 1
            work = functools.partial(_work, self._calls, self._free)
            threading.Thread(target=work, name="gem-to-thread", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the threads when their calls return; this does not wait for them."""
        self._calls.put(None)


def _work(calls: "queue.SimpleQueue[Any]", free: threading.Semaphore) -> None:
    while (call := calls.get()) is not None:
        future, function = call
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                future.set_exception(error)
        del call, future, function  # an idle thread must not keep objects alive
        free.release()
    calls.put(None)  # for the next thread
