"""Vectors in workers: each worker holds some environments, and is replaced when it dies.

This is the host's side, for workers of any kind: a subclass of ``VectorWorkers`` says how one is
opened. ``gem_workers.slots`` is the worker's side.
"""

import abc
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import cloudpickle

from gem_core.errors import ClosedError, ConfigError, GemError, WorkerDiedError
from gem_core.lifetimes import Lock
from gem_core.vector.executor import CLOSE_SECONDS, QueueExecutor, Request, Result
from gem_core.vector.slot import Fault, Slot
from gem_workers.pickles import dump, load
from gem_workers.slots import Answer, Task

__all__ = ["SlotWorker", "VectorWorkers"]

_LEAST_PATIENCE = 60.0
"""Seconds in which a worker in place of one that died has to make its environments, at least."""
_PATIENCE = 10.0
"""The factor by which it may be slower than the first one."""
_LOST = "and with it the episodes of its environments. Their next reset starts afresh."


class SlotWorker(Protocol):
    """A worker that holds slots, as the host sees it. Any thread may call its methods."""

    def make(self, make_slots: bytes, lost: BaseException | None) -> None:
        """Make the slots, and wait for them.

        Args:
            make_slots: Pickle of the functions that make them, by index.
            lost: The error by which earlier environments were lost.

        Raises:
            BaseException: That of a slot that cannot be made.
            WorkerDiedError: The worker died.
        """

    def send(self, tasks: list[Task]) -> None:
        """Begin to call methods of slots; if the worker is dead, ``receive`` raises."""

    def receive(self) -> list[Answer]:
        """Wait for answers, and return them.

        Raises:
            WorkerDiedError: The worker died or has ended; the message has no full stop.
        """

    def finish(self) -> None:
        """Let the worker close its slots and end."""

    def kill(self) -> None:
        """End the worker; may be called twice."""


class VectorWorkers(QueueExecutor, abc.ABC):
    """Base of executors whose environments are in workers; each stays in one of them."""

    def __init__(self) -> None:
        super().__init__()
        self._hosts: list[_Host] = []

    @abc.abstractmethod
    def _count_of(self, slots: int) -> int:
        """Return the number of workers for a vector, at most one for each slot."""

    @abc.abstractmethod
    def _open(self, slots: int) -> SlotWorker:
        """Start a worker that is to hold a number of slots, and wait until it has started."""

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Start the workers; each makes its share of the slots while the others do the same.

        Raises:
            ConfigError: An environment cannot be pickled, or the executor has a vector already.
            WorkerDiedError: A worker died.
        """
        if self._hosts:
            raise ConfigError("An executor runs one vector; make another executor for the next.")
        count = min(self._count_of(len(make_slots)), len(make_slots))
        shares = [dict(list(enumerate(make_slots))[i::count]) for i in range(count)]
        try:
            blobs = self._dump_slots(shares)
            for share, blob in zip(shares, blobs, strict=True):
                self._hosts.append(_Host(self._open, len(share), blob, self._results))
            for host in self._hosts:
                host.ready.result()
        except BaseException:
            self.close()
            raise

    def _dump_slots(self, shares: Sequence[dict[int, Callable[..., Slot]]]) -> list[bytes]:
        try:
            return self._dump(shares)
        except Exception as error:
            raise ConfigError(
                f"An environment that is to run in a worker must be picklable, with its arguments, "
                f"tools and wrappers: {error}"
            ) from error

    def _dump(self, shares: Sequence[Any]) -> list[bytes]:
        """Return the pickles of the functions that make the slots, one for each worker."""
        return [cloudpickle.dumps(share) for share in shares]

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Send each worker its share of the requests."""
        count = len(self._hosts)
        shares: list[list[tuple[int, str, Any]]] = [[] for _ in range(count)]
        for index, argument in requests:
            shares[index % count].append((index, method, argument))
        for host, share in zip(self._hosts, shares, strict=True):
            if share:
                host.send(share)

    def _close_hosts(self) -> None:
        """Close the slots, and end their workers; after ``CLOSE_SECONDS`` they are killed."""
        hosts, self._hosts = self._hosts, []
        for host in hosts:
            host.begin_close()
        end = time.monotonic() + CLOSE_SECONDS
        for host in hosts:
            host.join(max(0.0, end - time.monotonic()))
        for host in hosts:
            host.kill()


class _Host:
    """The requests of one share of the slots, and a thread that reads the answers of its worker.

    Args:
        open_worker: Starts a worker for a number of slots.
        slots: That number.
        make_slots: Pickle of the functions that make them.
        results: Where answers go.

    Attributes:
        ready: Done when the slots have been made, or cannot be.
    """

    def __init__(
        self,
        open_worker: Callable[[int], SlotWorker],
        slots: int,
        make_slots: bytes,
        results: "queue.SimpleQueue[Result]",
    ) -> None:
        self._open, self._count, self._make_slots = open_worker, slots, make_slots
        self._results = results
        self._lock = Lock()
        self._worker: SlotWorker | None = None
        """None while there is none: at the beginning, and while one is replaced."""
        self._in_flight: dict[int, Task] = {}
        self._held: set[int] = set()
        """The slots whose requests wait for a worker."""
        self._failure: BaseException | None = None
        self._closing = False
        self._patience: float | None = None
        self.ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def send(self, requests: list[tuple[int, str, Any]]) -> None:
        """Request calls of methods of slots."""
        tasks: list[Task] = []
        for index, method, argument in requests:
            try:
                tasks.append((index, method, dump(argument)))
            except Exception as error:  # noqa: BLE001 - an action may be any object
                self._results.put((index, Fault(error)))
        with self._lock:
            failure, worker = self._failure, self._worker
            self._in_flight.update({task[0]: task for task in tasks})
            if worker is None:
                self._held.update(task[0] for task in tasks)
        if failure is not None:
            self._settle([(index, Fault(failure)) for index, *_ in tasks])
        elif worker is not None:
            worker.send(tasks)  # without the lock: the worker may wait until its answers are read

    def _serve(self) -> None:
        try:
            self._use_workers()
        except BaseException as error:  # noqa: BLE001 - raised in calls that wait, and in later ones
            self._fail(error)
        else:
            self._fail(ClosedError("This vector is closed."))

    def _use_workers(self) -> None:
        """Pass on the answers of one worker after another, until the vector is closed."""
        lost: BaseException | None = None
        while not self._closing:
            worker = self._opened(lost)
            try:
                self._begin(worker, lost)
                while True:
                    self._settle([(index, _load(blob)) for index, blob in worker.receive()])
            except WorkerDiedError as error:
                lost = WorkerDiedError(f"{error}, {_LOST}")
                with self._lock:
                    self._worker = None
            finally:
                worker.kill()

    def _opened(self, lost: BaseException | None) -> SlotWorker:
        """Return a worker with new slots."""
        worker = self._open(self._count)
        begun = time.monotonic()
        try:
            with self._limited(worker) as is_late:
                worker.make(self._make_slots, lost)
        except BaseException as error:
            worker.kill()
            if is_late.is_set():
                raise WorkerDiedError(
                    f"The environments of a worker that died were not made again within "
                    f"{self._patience:.0f} seconds."
                ) from error
            if isinstance(error, WorkerDiedError):
                raise WorkerDiedError(f"{error}, before its environments were made.") from error
            raise
        if self._patience is None:
            self._patience = max(_LEAST_PATIENCE, _PATIENCE * (time.monotonic() - begun))
        return worker

    @contextlib.contextmanager
    def _limited(self, worker: SlotWorker) -> Iterator[threading.Event]:
        """Kill a worker that takes the place of another and makes its slots for too long."""
        is_late = threading.Event()
        if self._patience is None:
            yield is_late
            return

        def give_up() -> None:
            is_late.set()
            worker.kill()

        limit = threading.Timer(self._patience, give_up)
        limit.daemon = True
        limit.start()
        try:
            yield is_late
        finally:
            limit.cancel()

    def _begin(self, worker: SlotWorker, lost: BaseException | None) -> None:
        """Let a worker begin with the requests that wait for it.

        After a loss it gets the steps again and answers them with the loss of the episode. Any
        other request might kill it as well, and is answered here.
        """
        with self._lock:
            self._worker, held = worker, self._held
            self._held = set()
            tasks = list(self._in_flight.values())
        if not self.ready.done():
            self.ready.set_result(None)
        again = [task for task in tasks if task[1] == "step" or task[0] in held]
        if lost is not None:
            self._settle([(task[0], Fault(lost)) for task in tasks if task not in again])
        if again:
            worker.send(again)
        if self._closing:
            worker.finish()

    def _settle(self, answers: list[Result]) -> None:
        with self._lock:
            for index, _ in answers:
                self._in_flight.pop(index, None)
        for answer in answers:
            self._results.put(answer)

    def _fail(self, error: BaseException) -> None:
        """Answer all requests, and those to come, with an error."""
        if not self.ready.done():
            self.ready.set_exception(error)
        if not isinstance(error, GemError):
            error = WorkerDiedError(f"A worker is lost: {type(error).__name__}: {error}")
        with self._lock:
            self._failure, self._worker = error, None
            indices = list(self._in_flight)
        self._settle([(index, Fault(error)) for index in indices])

    def begin_close(self) -> None:
        """Let the worker close its environments and end."""
        self._closing = True
        worker = self._worker
        if worker is not None:
            worker.finish()

    def join(self, seconds: float) -> None:
        """Wait until the worker has ended."""
        self._thread.join(seconds)

    def kill(self) -> None:
        """End the worker if it has not ended."""
        worker = self._worker
        if worker is not None:
            worker.kill()
        self._thread.join(CLOSE_SECONDS if worker is not None else 0.0)


def _load(blob: bytes) -> Any:
    try:
        return load(blob)
    except Exception as error:  # noqa: BLE001 - somebody waits for an answer
        return Fault(error if isinstance(error, GemError) else GemError(repr(error)))
