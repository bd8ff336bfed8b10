"""Runs environments in worker processes: for steps that compute, and for code that may crash.

Each worker holds a share of the slots and answers over a pipe; a thread for each worker reads its
answers. A worker that dies is replaced, and its environments answer that their episode was lost.

Workers are fresh interpreters, not forks: a fork of a process with threads (ours has, and so has
any trainer) may hang, and ``multiprocessing`` would run the caller's script once more in each.
"""

import asyncio
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any

import cloudpickle

from gem_core.errors import ConfigError, GemError, WorkerDiedError
from gem_core.maybe_async import is_awaitable
from gem_core.vector.executor import QueueExecutor, Request, Result
from gem_core.vector.slot import Fault, Slot, perform

__all__ = ["ProcessesExecutor", "serve"]

FLUSH_SECONDS = 0.001
"""A worker sends what it has at least this often, so that one slow step holds up no answers."""
CLOSE_SECONDS = 5.0
"""A worker that takes longer to close its environments is killed."""

_START = """\
import sys
sys.path[:] = {path!r}
from gem_core.vector.processes import serve
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
            self._workers = [_Worker(share, self._results) for share in shares]
            for worker in self._workers:
                worker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Send each worker its share of the requests."""
        count = len(self._workers)
        shares: list[list[tuple[int, str, tuple[Any, ...]]]] = [[] for _ in range(count)]
        for index, args in requests:
            shares[index % count].append((index, method, args))
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


class _Worker:
    """A worker process as its parent sees it."""

    def __init__(
        self,
        make_slots: dict[int, Callable[..., Slot]],
        results: "queue.SimpleQueue[Result]",
    ) -> None:
        try:
            self._make_slots = cloudpickle.dumps(make_slots)
        except Exception as error:
            raise ConfigError(
                f"An environment for the executor 'processes' must be picklable, with its "
                f"arguments, tools and wrappers: {error}"
            ) from error
        self._results = results
        self._in_flight: dict[int, tuple[int, str, tuple[Any, ...]]] = {}
        self._lock = threading.Lock()
        self._closing = False
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
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
        error = self._ready.get()
        if error is not None:
            raise error

    def send(self, share: list[tuple[int, str, tuple[Any, ...]]]) -> None:
        with self._lock:
            self._in_flight.update({request[0]: request for request in share})
            self._send_or_wait_for_successor(share)

    def _send_or_wait_for_successor(self, share: list[Any]) -> None:
        try:
            self._connection.send(share)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the reader sees the same end, and sends what is in flight to the successor
        except Exception as error:  # noqa: BLE001 - an action may be anything
            for index, *_ in share:
                del self._in_flight[index]
                self._results.put((index, Fault(error)))

    def _read(self) -> None:
        """Say when the worker is ready, then put answers into the queue until it is closed."""
        try:
            error = self._connection.recv()
        except (EOFError, OSError):
            error = self._obituary()
        self._ready.put(error)
        while error is None:
            try:
                answers = self._connection.recv()
            except (EOFError, OSError):
                if self._closing:
                    return
                self._replace()
                continue
            if answers is not None:  # None is a successor's word that it is ready
                self._pass_on(answers)

    def _pass_on(self, answers: list[Result]) -> None:
        with self._lock:
            for index, _ in answers:
                self._in_flight.pop(index, None)
        for answer in answers:
            self._results.put(answer)

    def _replace(self) -> None:
        """Start a successor to a process that died, and ask it what this one did not answer."""
        error = self._obituary()
        with self._lock:
            self._launch(lost=error)
            if self._in_flight:
                self._send_or_wait_for_successor(list(self._in_flight.values()))

    def _obituary(self) -> WorkerDiedError:
        self._connection.close()
        return WorkerDiedError(
            f"A worker process died (exit status {self._process.wait()}), and with it the "
            f"episodes of its environments. Their next reset starts afresh."
        )

    def begin_close(self) -> None:
        with self._lock:
            self._closing = True
            with contextlib.suppress(OSError):
                self._connection.send(None)

    def finish_close(self) -> None:
        try:
            self._process.wait(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._connection.close()


def serve(descriptor: int) -> None:
    """Be a worker: answer the requests that come over a pipe until it closes or says None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes us
    connection: Connection = Connection(descriptor)
    slots: dict[int, Slot] = {}
    try:
        make_slots = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our parent
        lost = connection.recv()
        for index, make_slot in make_slots.items():
            slots[index] = make_slot(lost=lost)
    except Exception as error:  # noqa: BLE001 - the parent raises it
        connection.send(_portable(error))
        return
    connection.send(None)
    loop = asyncio.new_event_loop()
    try:
        while (requests := connection.recv()) is not None:
            _answer_all(connection, slots, requests, loop)
    except (EOFError, OSError):
        pass
    finally:
        loop.close()
        for slot in slots.values():
            perform(slot, "close", ())


def _answer_all(
    connection: Connection,
    slots: dict[int, Slot],
    requests: list[tuple[int, str, tuple[Any, ...]]],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Answer requests, those of asynchronous environments together at the end."""
    answers: list[Result] = []
    later: list[tuple[int, Any]] = []
    sent = time.monotonic()
    for index, method, args in requests:
        value = perform(slots[index], method, args)
        if is_awaitable(value):
            later.append((index, value))
            continue
        answers.append((index, value))
        if time.monotonic() - sent > FLUSH_SECONDS:
            _answer(connection, answers)
            answers, sent = [], time.monotonic()

    async def finish(index: int, awaitable: Any) -> None:
        try:
            value = await awaitable
        except Exception as error:  # noqa: BLE001 - it is raised again where it was asked for
            value = Fault(error)
        _answer(connection, [(index, value)])

    async def finish_all() -> None:
        await asyncio.gather(*(finish(index, awaitable) for index, awaitable in later))

    if answers:
        _answer(connection, answers)
    if later:
        loop.run_until_complete(finish_all())


def _answer(connection: Connection, answers: list[Result]) -> None:
    for _, value in answers:
        if isinstance(value, Fault):
            value.error = _portable(value.error)
    try:
        message = pickle.dumps(answers, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - find out which answer it is
        message = pickle.dumps([_picklable(answer) for answer in answers], pickle.HIGHEST_PROTOCOL)
    connection.send_bytes(message)


def _picklable(answer: Result) -> Result:
    try:
        pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller must get an answer
        return answer[0], Fault(GemError(f"An answer cannot be sent between processes: {error}"))
    return answer


def _portable(error: BaseException) -> BaseException:
    """Return the error, or one that says the same if it cannot be pickled and read again."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - pickling runs anybody's code
        return GemError(f"{type(error).__name__}: {error}")
    return error
