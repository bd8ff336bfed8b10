"""The environments of a vector in a worker: an answer for each request, in any order.

``HeldSlots`` is in the worker. ``ProcessSlots`` and ``serve`` connect it to the host where the
worker is a process of this machine. The host sends ``CALL`` frames. The first one holds the
functions that make the slots and is answered by one frame, ``RESULT`` or ``RAISED``. Each later one
holds a list of tasks, whose answers are sent as soon as they are there, so that no answer waits for
a slow neighbour. When the host ends its stream, the worker closes its slots and exits.
"""

import contextlib
import pickle
import socket
import sys
import threading
from typing import Any, BinaryIO

from gem_core.errors import GemError, WorkerDiedError
from gem_core.lifetimes import Lock
from gem_core.vector.executor import QueueExecutor
from gem_core.vector.slot import FAULTS, Fault
from gem_workers.frames import CALL, DIED, RAISED, READY, RESULT, Frame, pack, read_frame
from gem_workers.launcher import Launcher
from gem_workers.pickles import dump, load, portable

__all__ = ["Answer", "HeldSlots", "ProcessSlots", "Task", "serve"]

Task = tuple[int, str, bytes]
"""Index of a slot, name of its method, pickle of the argument.

Arguments and answers are pickled one by one, so that one that cannot be sent or read is a fault of
its own environment alone.
"""
Answer = tuple[int, bytes]
"""Index of a slot, and the pickle of its answer or of a ``Fault``."""

_END = -1


class HeldSlots(QueueExecutor):
    """The slots of a worker. One thread at a time performs tasks, another takes their answers."""

    def make(self, blob: bytes, lost: BaseException | None) -> BaseException | None:
        """Make the slots; return the error of one that cannot be made, or None.

        Args:
            blob: Pickle of the functions that make them, by index.
            lost: The error by which earlier environments were lost.
        """
        try:
            self._make_slots(pickle.loads(blob), lost=lost)  # noqa: S301 - from the host
        except FAULTS as error:
            return portable(error)
        return None

    def perform(self, tasks: list[Task]) -> None:
        """Call methods of slots; ``answers`` returns what they return."""
        for index, method, blob in tasks:
            try:
                argument = load(blob)
            except GemError as error:
                self._results.put((index, Fault(error)))
            else:
                self._perform(index, method, argument)

    def answers(self) -> list[Answer]:
        """Wait for answers, and return them; an empty list at the end."""
        answers = self.collect(1)
        if answers[-1][0] == _END:
            self._results.put((_END, None))
        return [(index, _dump_answer(value)) for index, value in answers if index != _END]

    def end(self) -> None:
        """Close the slots."""
        with contextlib.suppress(GemError):
            self.close()
        self._results.put((_END, None))


def _dump_answer(value: Any) -> bytes:
    try:
        return dump(Fault(portable(value.error)) if isinstance(value, Fault) else value)
    except Exception as error:  # noqa: BLE001 - every request must be answered
        return dump(Fault(GemError(f"An answer cannot be sent from a worker: {error}")))


class ProcessSlots:
    """The host's side of a worker process; see ``SlotWorker``.

    Args:
        launcher: Starts it.

    Raises:
        WorkerDiedError: It died while it started.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._worker = launcher.start_worker()
        self._stream = self._worker.open_stream()
        self._send_lock = Lock()

    def make(self, make_slots: bytes, lost: BaseException | None) -> None:
        """Make the slots, and wait for them."""
        self._send((make_slots, lost))
        frame = self._read()
        if frame.kind == RAISED:
            self._stream.close()
            error: BaseException = pickle.loads(frame.body)  # noqa: S301 - from a worker
            raise error

    def send(self, tasks: list[Task]) -> None:
        """Begin to call methods of slots."""
        self._send(tasks)

    def _send(self, value: object) -> None:
        with self._send_lock:
            self._worker.send(pack(CALL, pickle.dumps(value)))

    def receive(self) -> list[Answer]:
        """Wait for answers, and return them."""
        answers: list[Answer] = pickle.loads(self._read().body)  # noqa: S301 - from a worker
        return answers

    def _read(self) -> Frame:
        frame = read_frame(self._stream)
        if frame.kind == DIED:
            self._stream.close()
            status = bytes(frame.body).decode() or "unknown"
            raise WorkerDiedError(f"A worker process died (exit status {status})")
        return frame

    def finish(self) -> None:
        """Let the worker close its slots and end."""
        self._worker.finish()  # without the lock, which a sender holds that waits for the worker

    def kill(self) -> None:
        """End the worker."""
        self._launcher.end_worker(self._worker)


def serve(connection: socket.socket, _memory_mib: int | None) -> None:
    """Serve slots until the host ends its stream; see the module."""
    _SlotServer(connection).serve()


class _SlotServer:
    """Slots in the main thread of a process; another thread sends their answers."""

    def __init__(self, connection: socket.socket) -> None:
        self._slots = HeldSlots()
        self._connection = connection
        self._requests: BinaryIO = connection.makefile("rb")

    def serve(self) -> None:
        self._send(READY)
        frame = read_frame(self._requests)
        if frame.kind == DIED:
            return
        failure = self._slots.make(*pickle.loads(frame.body))  # noqa: S301 - from the host
        if failure is not None:
            self._send(RAISED, pickle.dumps(failure))
            return
        self._send(RESULT)
        sender = threading.Thread(target=self._send_answers, daemon=True)
        sender.start()
        try:
            while (frame := read_frame(self._requests)).kind != DIED:
                self._slots.perform(pickle.loads(frame.body))  # noqa: S301 - from the host
        finally:
            self._slots.end()
            sender.join()
            sys.stdout.flush()
            sys.stderr.flush()

    def _send(self, kind: bytes, body: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # the host is gone
            self._connection.sendall(pack(kind, body))

    def _send_answers(self) -> None:
        while answers := self._slots.answers():
            self._send(RESULT, pickle.dumps(answers))
