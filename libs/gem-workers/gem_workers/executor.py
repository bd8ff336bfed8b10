"""Runs environments in worker processes: for steps that compute, and for code that may crash.

Each worker holds a share of the slots and answers over a pipe; a thread for each worker reads its
answers. A worker that dies is replaced, and its environments answer that their episode was lost.

Workers are fresh interpreters, not forks: a fork of a process with threads (ours has, and so has
any trainer) may hang, and ``multiprocessing`` would run the caller's script once more in each.
"""

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any

import cloudpickle

from gem_core.errors import ConfigError, GemError, WorkerDiedError
from gem_core.vector.executor import QueueExecutor, Request, Result
from gem_core.vector.slot import FAULTS, Fault, Slot

__all__ = ["ProcessesExecutor", "serve"]

CLOSE_SECONDS = 5.0
"""A worker that takes longer to close its environments is killed."""
_START = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes us
sys.path[:] = {path!r}
from gem_workers.executor import serve
serve({descriptor})
"""


class ProcessesExecutor(QueueExecutor):
    """A fixed number of worker processes; each environment stays in one of them.

    Args:
        max_workers: Number of processes; None for one per core, at most one per environment.

    Raises:
        ConfigError: ``max_workers`` is not positive.
    """

    def __init__(self, *, max_workers: int | None = None) -> None:
        super().__init__()
        if max_workers is not None and max_workers < 1:
            raise ConfigError(f"max_workers must be at least 1; got {max_workers}.")
        self._max_workers = max_workers or os.cpu_count() or 1
        self._workers: list[_Worker] = []

    def start(self, make_slots: Sequence[Callable[..., Slot]]) -> None:
        """Start the workers and make the slots in them, all workers at once."""
        count = min(self._max_workers, len(make_slots))
        shares = [dict(list(enumerate(make_slots))[i::count]) for i in range(count)]
        try:
            for share in shares:
                self._workers.append(_Worker(share, self._results))
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
        """Close the slots and end the workers."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.begin_close()
        for worker in workers:
            worker.finish_close()


_Task = tuple[int, str, bytes]
"""Index of a slot, name of a method, its argument as ``_dump`` makes it.

Arguments and answers are pickled one by one, so that one that cannot be sent or read is a fault of
its own environment alone.
"""


class _Worker:
    """A worker process as its parent sees it."""

    def __init__(
        self, make_slots: dict[int, Callable[..., Slot]], results: "queue.SimpleQueue[Result]"
    ) -> None:
        try:
            self._make_slots = cloudpickle.dumps(make_slots)
        except Exception as error:
            raise ConfigError(
                f"An environment for the executor 'processes' must be picklable, with its "
                f"arguments, tools and wrappers: {error}"
            ) from error
        self._results = results
        self._in_flight: dict[int, _Task] = {}
        self._in_flight_lock = threading.Lock()
        # Apart from the other lock: a send may wait until the worker's answers have been read.
        self._send_lock = threading.Lock()
        self._closing = False
        self._failure: Exception | None = None
        self._ready: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._launch(lost=None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _launch(self, lost: Exception | None) -> None:
        self._connection, theirs = Pipe()
        start = _START.format(path=sys.path, descriptor=theirs.fileno())
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", start], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
        with contextlib.suppress(OSError):  # a process that is dead already is seen by the reader
            self._connection.send_bytes(self._make_slots)
            self._connection.send(lost)

    def wait_until_ready(self) -> None:
        """Wait for the slots, and raise what kept one from being made."""
        error = self._ready.get()
        if error is not None:
            raise error

    def send(self, requests: list[tuple[int, str, Any]]) -> None:
        """Ask for methods of slots to be called."""
        tasks: list[_Task] = []
        for index, method, argument in requests:
            try:
                tasks.append((index, method, _dump(argument)))
            except Exception as error:  # noqa: BLE001 - an action may be anything
                self._results.put((index, Fault(error)))
        with self._send_lock:
            if self._failure is not None:
                self._settle([(index, Fault(self._failure)) for index, *_ in tasks])
                return
            with self._in_flight_lock:
                self._in_flight.update({task[0]: task for task in tasks})
            self._send(tasks)

    def _send(self, tasks: list[_Task]) -> None:
        # A broken pipe is seen by the reader too, which sends what is in flight to a successor.
        with contextlib.suppress(OSError):
            self._connection.send(tasks)

    def _read(self) -> None:
        """Say when the worker is ready, then settle what it answers until it is closed."""
        self._failure = self._wait_for_slots()
        self._ready.put(self._failure)
        while self._failure is None:
            try:
                answers = self._connection.recv()
            except (EOFError, OSError):
                if self._closing:
                    return
                self._replace()
                continue
            self._settle([(index, _load(blob)) for index, blob in answers])

    def _wait_for_slots(self) -> Exception | None:
        try:
            return self._connection.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            return self._obituary()

    def _settle(self, answers: list[Result]) -> None:
        with self._in_flight_lock:
            for index, _ in answers:
                self._in_flight.pop(index, None)
        for answer in answers:
            self._results.put(answer)

    def _replace(self) -> None:
        """Start a successor to a process that died in mid-work.

        It is asked again for the steps, which it answers with the loss of the episode; whatever
        else was asked might kill it as well, and is answered here.
        """
        obituary = self._obituary()
        with self._send_lock:
            if self._closing:
                return
            self._launch(lost=obituary)
            self._failure = self._wait_for_slots()
            error = self._failure or obituary
            with self._in_flight_lock:
                tasks = list(self._in_flight.values())
            again = [task for task in tasks if task[1] == "step" and self._failure is None]
            self._settle([(task[0], Fault(error)) for task in tasks if task not in again])
            self._send(again)

    def _obituary(self) -> WorkerDiedError:
        self._connection.close()
        return WorkerDiedError(
            f"A worker process died (exit status {self._process.wait()}), and with it the "
            f"episodes of its environments. Their next reset starts afresh."
        )

    def begin_close(self) -> None:
        """Tell the worker to end."""
        self._closing = True
        with self._send_lock, contextlib.suppress(OSError):
            self._connection.send(None)

    def finish_close(self) -> None:
        """Wait for the worker's end; kill it if it takes too long."""
        try:
            self._process.wait(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._connection.close()


class _SlotsOfAWorker(QueueExecutor):
    """What a worker process is inside: slots in its main thread, answers sent by another one."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def serve(self) -> None:
        """Make the slots, then do what is asked until the pipe closes or nothing is asked for."""
        try:
            make_slots = pickle.loads(self._connection.recv_bytes())  # noqa: S301 - our parent's
            self._make_slots(make_slots, lost=self._connection.recv())
        except FAULTS as error:
            self._connection.send(_portable(error))
            return
        self._connection.send(None)
        sender = threading.Thread(target=self._send_answers, daemon=True)
        sender.start()
        try:
            self._do_tasks()
        finally:
            with contextlib.suppress(GemError):
                self.close()
            self._results.put((-1, None))
            sender.join()

    def _do_tasks(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while (tasks := self._connection.recv()) is not None:
                for index, method, blob in tasks:
                    argument = _load(blob)
                    if isinstance(argument, Fault):
                        self._results.put((index, argument))
                    else:
                        self._perform(index, method, argument)

    def _send_answers(self) -> None:
        """Send what is there, as soon as it is there: no answer waits for a slow neighbour."""
        ended = False
        while not ended:
            answers = self.collect(1)
            ended = answers[-1][0] < 0
            with contextlib.suppress(OSError):
                self._connection.send(
                    [(index, _dump_answer(v)) for index, v in answers if index >= 0]
                )


def serve(descriptor: int) -> None:
    """Be a worker, over the pipe of a file descriptor."""
    _SlotsOfAWorker(Connection(descriptor)).serve()


def _dump(value: Any) -> bytes:
    try:
        blob = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - cloudpickle can do more, and raises what is to be raised
        blob = b"__main__"
    # Classes of a script's own __main__ are unknown in other processes, unless sent by value.
    return cloudpickle.dumps(value) if b"__main__" in blob else blob


def _dump_answer(value: Any) -> bytes:
    try:
        return _dump(Fault(_portable(value.error)) if isinstance(value, Fault) else value)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent must get an answer
        return _dump(Fault(GemError(f"An answer cannot be sent between processes: {error}")))


def _load(blob: bytes) -> Any:
    """Return what was dumped, or a ``Fault`` if it cannot be read."""
    try:
        return pickle.loads(blob)  # noqa: S301 - from our own process
    except Exception as error:  # noqa: BLE001 - reading runs anybody's code
        return Fault(GemError(f"What was sent between processes cannot be read: {error}"))


def _portable(error: BaseException) -> BaseException:
    """Return the error, or one that says the same if it cannot be pickled and read again."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - pickling runs anybody's code
        return GemError(f"{type(error).__name__}: {error}")
    return error
