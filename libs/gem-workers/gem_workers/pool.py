"""Pools of worker processes, for functions that may hang, crash or use up memory.

A worker that misses its deadline is killed with all its child processes. The next call that needs
a worker replaces it within milliseconds, by a fork of a template that has imported the modules.
Threads and event loops share the workers; callers that find none idle wait in one fair queue.
A vector has workers of its own, which keep its environments.
"""

import os
import pickle
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NoReturn, Self

from gem_core.errors import (
    ClosedError,
    ConfigError,
    DeadlineError,
    EntryPointError,
    SnapshotError,
    WorkerCallError,
    WorkerDiedError,
)
from gem_core.lifetimes import Lifetime, Lock, call_later
from gem_workers.cancellation import cancellable
from gem_workers.frames import (
    CALL,
    LATE,
    NOT_BEGUN,
    OUT_OF_MEMORY,
    RAISED,
    RESULT,
    Frame,
    pack,
)
from gem_workers.launcher import Launcher, Worker
from gem_workers.row_files import RowFiles
from gem_workers.slots import ProcessSlots
from gem_workers.vector_workers import VectorWorkers

__all__ = ["WorkerPool", "shared_pool"]

_MOST_WORKERS = 8
_STDERR = 2
_NO_DEADLINE = 1e6
"""Seconds; timeouts of sockets cannot be much longer."""
_CLOSED = "This pool of workers is closed."


class WorkerPool(VectorWorkers):
    """Worker processes: they call functions, each call with a deadline, or run a vector.

    Processes start with the first call. A worker serves many calls and is replaced when it has
    grown by an eighth of its memory limit; of several idle workers the one used last comes first.
    A function must be importable by name, with ``sys.path`` as it is at the first call, and its
    arguments and result must be picklable.

    Any number of threads and event loops may use a pool. In a fork of this process it starts its
    own processes. A pool that is not closed ends with the interpreter.

    As an executor of a vector, it keeps each environment in one of its processes; text that
    environments print goes to the standard error of this process.

    Args:
        preload: Names of modules to import once, before the first call: the modules of the
            functions, and modules that these import lazily.
        memory_mib: Most memory that a worker may allocate after its start, in MiB; None for no
            limit. Not enforced on macOS.
        max_workers: Most workers at the same time; None for one per core, and for calls at most 8.

    Raises:
        ConfigError: An argument is out of range, or ``preload`` is a string.
    """

    def __init__(
        self,
        *,
        preload: Sequence[str] = (),
        memory_mib: int | None = None,
        max_workers: int | None = None,
    ) -> None:
        super().__init__()
        if isinstance(preload, str):
            raise ConfigError(f"preload must be a sequence of module names; got {preload!r}.")
        if memory_mib is not None and memory_mib < 1:
            raise ConfigError(f"memory_mib must be at least 1, or None; got {memory_mib}.")
        if max_workers is not None and max_workers < 1:
            raise ConfigError(f"max_workers must be at least 1, or None; got {max_workers}.")
        self._max_workers = max_workers
        self._size = max_workers or min(_MOST_WORKERS, os.cpu_count() or 1)
        self._memory_mib = memory_mib
        self._closed = False
        self._launcher = Launcher(preload=preload, memory_mib=memory_mib)
        self._slots_launcher = Launcher(
            preload=preload,
            memory_mib=memory_mib,
            serve="gem_workers.slots:serve",
            output=_STDERR,
        )
        self._row_files = RowFiles()
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._lifetime: Lifetime | None = None
        self._lock = Lock()
        self._idle: list[Worker] = []
        self._waiters: deque[Future[Worker]] = deque()
        self._alive = 0
        self._starting = 0

    @property
    def closed(self) -> bool:
        """Whether the pool was closed."""
        return self._closed

    def _count_of(self, slots: int) -> int:
        return self._max_workers or os.cpu_count() or 1

    def _open(self, slots: int) -> ProcessSlots:
        return ProcessSlots(self._slots_launcher)

    def _dump(self, shares: Sequence[Any]) -> list[bytes]:
        return self._row_files.dump(shares)

    def warm(self) -> None:
        """Start the processes in the background; the first call raises the error of a failure."""
        with self._lock:
            if not self._closed and not self._alive + self._starting:
                self._begin_start()

    def call(self, target: str, *args: Any, deadline: float) -> Any:
        """Call a function in a worker and return its result.

        Args:
            target: ``"package.module:function"``.
            args: Its positional arguments.
            deadline: Most seconds that the call may take; waiting for a worker does not count. A
                million or more, such as ``math.inf``, means no limit.

        Raises:
            ConfigError: The deadline is not positive.
            DeadlineError: The call took longer; its worker was killed.
            EntryPointError: A module of ``preload`` cannot be imported.
            WorkerCallError: The function raised (a note of the error holds the traceback), does
                not exist, or its arguments or result cannot be pickled.
            WorkerDiedError: The worker died or reached its memory limit.
        """
        request, limit = _pack_request(target, args, deadline)
        while True:
            worker = self._take() or self._wait_for_worker()
            try:
                with cancellable(worker.hang_up):
                    frame = worker.ask(request, limit)
            except BaseException:  # Ctrl-C, or cancelled
                self._discard(worker)
                raise
            self._put_back(worker, frame)
            if frame.kind != NOT_BEGUN:
                return self._result(frame, target, deadline)

    async def call_async(self, target: str, *args: Any, deadline: float) -> Any:
        """Do the same as ``call`` without blocking the running event loop.

        If the call is cancelled, its worker is killed.
        """
        request, limit = _pack_request(target, args, deadline)
        while True:
            worker = self._take() or await self._wait_for_worker_async()
            try:
                frame = await worker.ask_async(request, limit)
            except GeneratorExit:  # the garbage collector ends an abandoned call
                call_later(self._discard, worker)
                raise
            except BaseException:  # cancelled
                self._discard(worker)
                raise
            self._put_back(worker, frame)
            if frame.kind != NOT_BEGUN:
                return self._result(frame, target, deadline)

    def shared(self, blob: bytes) -> bytes:
        """Return the bytes: each worker gets a copy of its own."""
        return blob

    def _result(self, frame: Frame, target: str, deadline: float) -> Any:
        """Return the value in a frame, or raise its error."""
        if frame.kind == RESULT:
            return _load_result(frame, target)
        if frame.kind == RAISED:
            raise _call_error(frame, target)
        if frame.kind == LATE:
            raise DeadlineError(
                f"{target} took longer than {deadline:g} seconds; its worker was killed."
            )
        self._check_open()
        if frame.kind == OUT_OF_MEMORY:
            raise WorkerDiedError(
                f"{target} ran out of memory (memory_mib={self._memory_mib}); its worker has ended."
            )
        status = bytes(frame.body).decode() or "unknown"
        raise WorkerDiedError(f"A worker process died in {target} (exit status {status}).")

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(_CLOSED)

    def _take(self) -> Worker | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _enqueue(self) -> "Future[Worker]":
        """Return a future of the next idle or new worker."""
        waiter: Future[Worker] = Future()
        with self._lock:
            self._check_open()
            if self._idle:
                waiter.set_result(self._idle.pop())
            else:
                self._waiters.append(waiter)
                self._start_if_needed()
        return waiter

    def _wait_for_worker(self) -> Worker:
        waiter = self._enqueue()
        try:
            with cancellable(waiter.cancel):
                return waiter.result()
        except BaseException:
            self._leave_queue(waiter)
            raise

    async def _wait_for_worker_async(self) -> Worker:
        import asyncio  # noqa: PLC0415 - most hosts have no event loop

        waiter = self._enqueue()
        try:
            return await asyncio.wrap_future(waiter)
        except BaseException:
            self._leave_queue(waiter)
            raise

    def _leave_queue(self, waiter: "Future[Worker]") -> None:
        """Stop waiting; pass on the worker if one has just been assigned."""
        if not waiter.cancel() and waiter.exception() is None:
            self._put_idle(waiter.result())

    def _put_back(self, worker: Worker, frame: Frame) -> None:
        if frame.last:
            self._discard(worker)
        else:
            self._put_idle(worker)

    def _put_idle(self, worker: Worker) -> None:
        """Hand a worker to the caller that has waited longest, or keep it."""
        with self._lock:
            waiter = self._next_waiter()
            if waiter is None and not self._closed:
                self._idle.append(worker)
                return
        if waiter is not None:
            waiter.set_result(worker)
        else:
            self._launcher.end_worker(worker)

    def _next_waiter(self) -> "Future[Worker] | None":
        while self._waiters:
            waiter = self._waiters.popleft()
            if waiter.set_running_or_notify_cancel():
                return waiter
        return None

    def _discard(self, worker: Worker) -> None:
        """Kill a worker; start another only if a caller waits for one."""
        self._launcher.end_worker(worker)
        with self._lock:
            self._alive -= 1
            self._start_if_needed()

    def _start_if_needed(self) -> None:
        room = self._alive + self._starting < self._size
        if room and self._starting < len(self._waiters) and not self._closed:
            self._begin_start()

    def _begin_start(self) -> None:
        if self._lifetime is None:  # in a fork, the processes and their life begin anew
            self._lifetime = Lifetime(self, self._launcher.close, what="pool of workers")
        self._starting += 1
        try:
            threading.Thread(target=self._start_worker, daemon=True).start()
        except RuntimeError as error:  # there are too many
            self._end_start(error)

    def _start_worker(self) -> None:
        try:
            worker = self._launcher.start_worker()
        except BaseException as error:  # noqa: BLE001 - raised in a caller that waits
            self._end_start(error)
            return
        with self._lock:
            self._starting -= 1
            self._alive += 1
        self._put_idle(worker)

    def _end_start(self, error: BaseException) -> None:
        """Raise the error of a start in the caller that has waited longest, and try the next one.

        If other workers will serve them, or the modules cannot be imported, there is no next try.
        """
        waiters = []
        with self._lock:
            self._starting -= 1
            while not self._alive and (waiter := self._next_waiter()):
                waiters.append(waiter)
                if not isinstance(error, EntryPointError):
                    break
            self._start_if_needed()
        for waiter in waiters:
            waiter.set_exception(error)

    def close(self) -> None:
        """Close the environments of a vector, and end all processes; may be called twice.

        Calls in progress and waiting calls raise ``ClosedError``. Environments that are not closed
        within ``CLOSE_SECONDS`` are lost with their process.
        """
        self._close_hosts()
        self._slots_launcher.close()
        self._row_files.close()
        with self._lock:
            self._closed = True
            self._idle.clear()
            waiters, self._waiters = self._waiters, deque()
            lifetime = self._lifetime
        if lifetime is not None:
            lifetime.end()
        for waiter in waiters:
            if waiter.set_running_or_notify_cancel():
                waiter.set_exception(ClosedError(_CLOSED))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise SnapshotError(
            "A pool of workers can neither be pickled nor copied; "
            "ask shared_pool() for it where it is used."
        )

    def _forget(self) -> None:
        """Start over in a fork of this process."""
        self._launcher.forget()
        self._slots_launcher.forget()
        self._hosts.clear()
        self._reset()


def _pack_request(
    target: str, args: tuple[Any, ...], deadline: float
) -> tuple[bytes, float | None]:
    """Return the request as bytes, and the deadline as a timeout of sockets."""
    if not deadline > 0:
        raise ConfigError(f"deadline must be a positive number of seconds; got {deadline!r}.")
    try:
        body = pickle.dumps((target, args), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise WorkerCallError(f"The arguments of {target} cannot be pickled: {error}") from error
    return pack(CALL, body), deadline if deadline < _NO_DEADLINE else None


def _load_result(frame: Frame, target: str) -> Any:
    try:
        return pickle.loads(frame.body)  # noqa: S301 - from our own process
    except Exception as error:
        raise WorkerCallError(f"The result of {target} cannot be read: {error}") from error


def _call_error(frame: Frame, target: str) -> WorkerCallError:
    summary, trace = pickle.loads(frame.body)  # noqa: S301 - from our own process
    error = WorkerCallError(f"{target} {summary}")
    error.add_note(trace)
    return error


_POOLS: "weakref.WeakSet[WorkerPool]" = weakref.WeakSet()
_shared: dict[tuple[tuple[str, ...], int | None], WorkerPool] = {}
_shared_lock = Lock()


def shared_pool(*, preload: Sequence[str] = (), memory_mib: int | None = None) -> WorkerPool:
    """Return the pool that all callers in this process with the same arguments share."""
    key = (tuple(preload), memory_mib)
    with _shared_lock:
        pool = _shared.get(key)
        if pool is None or pool.closed:
            pool = _shared[key] = WorkerPool(preload=preload, memory_mib=memory_mib)
        return pool


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool._forget()  # noqa: SLF001 - private to this module


os.register_at_fork(after_in_child=_after_fork)
