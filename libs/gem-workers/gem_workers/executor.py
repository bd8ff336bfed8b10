"""Runs environments in worker processes: for steps that compute, and for code that may crash.

Each worker holds a share of the slots (see ``slots``), and a thread of the host reads its answers.
A worker that dies is replaced, and its environments report that their episodes were lost.
"""

import os
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import cloudpickle

from gem_core.errors import ConfigError, GemError, WorkerDiedError
from gem_core.lifetimes import Lock
from gem_core.vector.executor import CLOSE_SECONDS, QueueExecutor, Request, Result
from gem_core.vector.slot import Fault, Slot
from gem_workers.frames import CALL, RESULT, Frame, pack, read_frame
from gem_workers.launcher import Launcher
from gem_workers.pickles import dump, load
from gem_workers.slots import Task

__all__ = ["ProcessesExecutor"]

_LEAST_PATIENCE = 60.0
"""Seconds in which a worker in place of one that died has to make its environments, at least."""
_PATIENCE = 10.0
"""The factor by which it may be slower than the first one."""
_STDERR = 2


class ProcessesExecutor(QueueExecutor):
    """A fixed number of worker processes; each environment stays in one of them.

    Text that environments print goes to the standard error of this process.

    Args:
        max_workers: Number of processes; None for one per core. There are never more than
            environments.

    Raises:
        ConfigError: ``max_workers`` is not positive.
    """

    def __init__(self, *, max_workers: int | None = None) -> None:
        super().__init__()
        if max_workers is not None and max_workers < 1:
            raise ConfigError(f"max_workers must be at least 1, or None; got {max_workers}.")
        self._max_workers = max_workers or os.cpu_count() or 1
        self._launcher = Launcher(
            preload=(), memory_mib=None, serve="gem_workers.slots:serve", output=_STDERR
        )
        self._workers: list[_SlotWorker] = []

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Start the workers; each makes its share of the slots while the others do the same."""
        count = min(self._max_workers, len(make_slots))
        shares = [dict(list(enumerate(make_slots))[i::count]) for i in range(count)]
        try:
            for blob in [_dump_slots(share) for share in shares]:
                self._workers.append(_SlotWorker(self._launcher, blob, self._results))
            for worker in self._workers:
                worker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Send each worker its share of the requests."""
        count = len(self._workers)
        shares: list[list[tuple[int, str, Any]]] = [[] for _ in range(count)]
        for index, argument in requests:
            shares[index % count].append((index, method, argument))
        for worker, share in zip(self._workers, shares, strict=True):
            if share:
                worker.send(share)

    def close(self) -> None:
        """Close the slots and end the processes.

        A process that does not end within ``CLOSE_SECONDS`` is killed.
        """
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.begin_close()
        end = time.monotonic() + CLOSE_SECONDS
        for worker in workers:
            worker.join(max(0.0, end - time.monotonic()))
        self._launcher.close()
        for worker in workers:
            worker.join(CLOSE_SECONDS)


def _dump_slots(make_slots: dict[int, Callable[..., Slot]]) -> bytes:
    try:
        blob: bytes = cloudpickle.dumps(make_slots)
    except Exception as error:
        raise ConfigError(
            f"An environment for the executor 'processes' must be picklable, with its "
            f"arguments, tools and wrappers: {error}"
        ) from error
    return blob


class _SlotWorker:
    """The host's side of one worker: its requests, and a thread that reads its answers."""

    def __init__(
        self, launcher: Launcher, make_slots: bytes, results: "queue.SimpleQueue[Result]"
    ) -> None:
        self._launcher = launcher
        self._make_slots = make_slots
        self._results = results
        self._in_flight: dict[int, Task] = {}
        self._in_flight_lock = Lock()
        # A lock of its own: sending may have to wait until answers have been read.
        self._send_lock = Lock()
        self._closing = False
        self._failure: BaseException | None = None
        self._ready: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._launch(lost=None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _launch(self, lost: BaseException | None) -> None:
        self._worker = self._launcher.start_worker()
        self._stream = self._worker.open_stream()
        self._worker.send(pack(CALL, pickle.dumps((self._make_slots, lost))))

    def wait_until_ready(self) -> None:
        """Wait for the slots; raise the error of one that cannot be made."""
        error = self._ready.get()
        if error is not None:
            raise error

    def send(self, requests: list[tuple[int, str, Any]]) -> None:
        """Request calls of methods of slots."""
        tasks: list[Task] = []
        for index, method, argument in requests:
            try:
                tasks.append((index, method, dump(argument)))
            except Exception as error:  # noqa: BLE001 - an action may be any object
                self._results.put((index, Fault(error)))
        with self._send_lock:
            if self._failure is not None:
                self._settle([(index, Fault(self._failure)) for index, *_ in tasks])
                return
            with self._in_flight_lock:
                self._in_flight.update({task[0]: task for task in tasks})
            self._send(tasks)

    def _send(self, tasks: list[Task]) -> None:
        # If the worker is dead, the reader sends what is in flight to the next one.
        self._worker.send(pack(CALL, pickle.dumps(tasks)))

    def _read(self) -> None:
        """Report whether the slots were made, then pass on answers until the worker is closed."""
        try:
            begin = time.monotonic()
            self._failure = self._wait_for_slots()
            self._patience = max(_LEAST_PATIENCE, _PATIENCE * (time.monotonic() - begin))
            self._ready.put(self._failure)
            if self._failure is None:
                self._pass_on()
        except BaseException as error:  # noqa: BLE001 - somebody waits for answers
            self._end()
            self._fail(error)
        else:
            self._end()

    def _pass_on(self) -> None:
        while True:
            frame = read_frame(self._stream)
            if frame.kind == RESULT:
                answers = pickle.loads(frame.body)  # noqa: S301 - from a worker
                self._settle([(index, _load_answer(blob)) for index, blob in answers])
            elif self._closing or not self._replace(frame):
                return

    def _end(self) -> None:
        self._launcher.end_worker(self._worker)
        self._stream.close()

    def _fail(self, error: BaseException) -> None:
        """Answer all requests, and those to come, with an error."""
        if not isinstance(error, GemError):
            error = WorkerDiedError(f"A worker process is lost: {type(error).__name__}: {error}")
        with self._send_lock, self._in_flight_lock:
            self._failure = error
            tasks = list(self._in_flight.values())
        self._ready.put(error)
        self._settle([(task[0], Fault(error)) for task in tasks])

    def _wait_for_slots(self) -> BaseException | None:
        frame = read_frame(self._stream)
        if frame.kind == RESULT:
            return None
        if frame.last:
            return self._loss(frame)
        error: BaseException = pickle.loads(frame.body)  # noqa: S301 - from a worker
        return error

    def _settle(self, answers: list[Result]) -> None:
        with self._in_flight_lock:
            for index, _ in answers:
                self._in_flight.pop(index, None)
        for answer in answers:
            self._results.put(answer)

    def _replace(self, frame: Frame) -> bool:
        """Start a new process in place of one that died; return whether there is one.

        It gets the steps again and answers them with the loss of the episode. Any other request
        might kill it as well, and is answered here.
        """
        error = self._loss(frame)
        with self._send_lock:
            if self._closing:
                return False
            self._launch(lost=error)
            failure = self._wait_for_slots_in_time()
            if failure is not None:
                self._fail(failure)
                return False
            with self._in_flight_lock:
                tasks = list(self._in_flight.values())
            again = [task for task in tasks if task[1] == "step"]
            self._settle([(task[0], Fault(error)) for task in tasks if task not in again])
            self._send(again)
            return True

    def _wait_for_slots_in_time(self) -> BaseException | None:
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            self._worker.hang_up()

        limit = threading.Timer(self._patience, give_up)
        limit.daemon = True
        limit.start()
        failure = self._wait_for_slots()
        if is_late.is_set():
            return WorkerDiedError(
                f"The environments of a worker process that died were not made again within "
                f"{self._patience:.0f} seconds."
            )
        limit.cancel()
        return failure

    def _loss(self, frame: Frame) -> WorkerDiedError:
        self._end()
        status = bytes(frame.body).decode() or "unknown"
        return WorkerDiedError(
            f"A worker process died (exit status {status}), and with it the episodes of its "
            f"environments. Their next reset starts afresh."
        )

    def begin_close(self) -> None:
        """Let the worker close its environments and exit."""
        self._closing = True
        self._worker.finish()  # without the lock, which a sender holds that waits for the worker

    def join(self, seconds: float) -> None:
        """Wait until the worker has ended."""
        self._reader.join(seconds)


def _load_answer(blob: bytes) -> Any:
    try:
        return load(blob)
    except GemError as error:
        return Fault(error)
