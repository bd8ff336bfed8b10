"""The worker's side of the executor ``processes``: slots, and an answer for each request.

The host sends ``CALL`` frames. The first one holds the functions that make the slots and is
answered by one frame, ``RESULT`` or ``RAISED``. Each later one holds a list of tasks, whose answers
are sent as soon as they are there, so that no answer waits for a slow neighbour. When the host
ends its stream, the worker closes its slots and exits.
"""

import contextlib
import pickle
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from gem_core.errors import GemError
from gem_core.vector.executor import QueueExecutor
from gem_core.vector.slot import FAULTS, Fault, Slot
from gem_workers.frames import DIED, RAISED, READY, RESULT, pack, read_frame
from gem_workers.pickles import dump, load, portable

__all__ = ["Task", "serve"]

Task = tuple[int, str, bytes]
"""Index of a slot, name of its method, pickle of the argument.

Arguments and answers are pickled one by one, so that one that cannot be sent or read is a fault of
its own environment alone.
"""

_END = -1


def serve(connection: socket.socket, _memory_mib: int | None) -> None:
    """Serve slots until the host ends its stream; see the module."""
    _SlotServer(connection).serve()


class _SlotServer(QueueExecutor):
    """Slots in the main thread of a process; another thread sends their answers."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self._requests: BinaryIO = connection.makefile("rb")

    def serve(self) -> None:
        self._send(READY)
        frame = read_frame(self._requests)
        if frame.kind == DIED:
            return
        try:
            blob, lost = pickle.loads(frame.body)  # noqa: S301 - from the host
            make_slots: dict[int, Callable[..., Slot]] = pickle.loads(blob)  # noqa: S301 - as above
            self._make_slots(make_slots, lost=lost)
        except FAULTS as error:
            self._send(RAISED, pickle.dumps(portable(error)))
            return
        self._send(RESULT)
        sender = threading.Thread(target=self._send_answers, daemon=True)
        sender.start()
        try:
            self._do_tasks()
        finally:
            with contextlib.suppress(GemError):
                self.close()
            self._results.put((_END, None))
            sender.join()
            sys.stdout.flush()
            sys.stderr.flush()

    def _send(self, kind: bytes, body: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # the host is gone
            self._connection.sendall(pack(kind, body))

    def _do_tasks(self) -> None:
        while (frame := read_frame(self._requests)).kind != DIED:
            tasks: list[Task] = pickle.loads(frame.body)  # noqa: S301 - from the host
            for index, method, blob in tasks:
                try:
                    argument = load(blob)
                except GemError as error:
                    self._results.put((index, Fault(error)))
                else:
                    self._perform(index, method, argument)

    def _send_answers(self) -> None:
        ended = False
        while not ended:
            answers = self.collect(1)
            ended = answers[-1][0] == _END
            blobs = [(index, _dump_answer(value)) for index, value in answers if index != _END]
            self._send(RESULT, pickle.dumps(blobs))


def _dump_answer(value: Any) -> bytes:
    try:
        return dump(Fault(portable(value.error)) if isinstance(value, Fault) else value)
    except Exception as error:  # noqa: BLE001 - every request must be answered
        return dump(Fault(GemError(f"An answer cannot be sent between processes: {error}")))
