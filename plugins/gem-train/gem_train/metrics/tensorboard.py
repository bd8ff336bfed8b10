"""Event files, as TensorBoard reads them.

They are written here and not by a library: the writers of TensorBoard and tensorboardX hand events
to a thread, and when that meets a full disk, later figures are lost, or the training waits for it
without end. What is needed of the format is small: records of TFRecord
(https://www.tensorflow.org/tutorials/load_data/tfrecord) with messages of the type Event
(tensorboard/compat/proto/event.proto and summary.proto) in the wire format of protocol buffers.
"""

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["TensorBoardWriter"]

_VERSION = b"brain.Event:2"
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_SESSION_START = 1


class TensorBoardWriter:
    """Writes an event file in the run's folder.

    Args:
        folder: The run's folder.
        run_name: Not used: TensorBoard calls runs by their folders.
        config: Not used.
        resume_step: TensorBoard hides what earlier files have after this step; None to hide all
            that they have.
    """

    def __init__(
        self, folder: Path, run_name: str, config: Mapping[str, Any], resume_step: int | None
    ) -> None:
        # Files are read in the order of their names.
        count = sum(1 for _ in folder.glob("events.out.tfevents.*"))
        begin = f"events.out.tfevents.{int(time.time()):010d}.{count:04d}"
        self._path = folder / f"{begin}.{socket.gethostname()}.{os.getpid()}"
        self._size = 0
        first = 0 if resume_step is None else resume_step + 1
        start = _field(7, _BYTES, _field(1, _VARINT, _SESSION_START))
        self._waiting = _record(_event(0, _field(3, _BYTES, _VERSION)))
        self._waiting += _record(_event(first, start))
        self._write()

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the figures of a step.

        Raises:
            OSError: The disk is full, for example. They are kept, and written next time.
        """
        values = b"".join(
            _field(1, _BYTES, _field(1, _BYTES, name.encode()) + _field(2, _FLOAT, value))
            for name, value in metrics.items()
        )
        self._waiting += _record(_event(step, _field(5, _BYTES, values)))
        self._write()

    def _write(self) -> None:
        with self._path.open("ab") as file:
            file.truncate(self._size)  # what a write that failed has left
            file.write(self._waiting)
        self._size += len(self._waiting)
        self._waiting = b""

    def close(self) -> None:
        """Write what could not be written before.

        Raises:
            OSError: It still cannot.
        """
        if self._waiting:
            self._write()


def _event(step: int, what: bytes) -> bytes:
    return _field(1, _DOUBLE, time.time()) + _field(2, _VARINT, step) + what


def _field(number: int, kind: int, value: Any) -> bytes:
    """Return a field of a message; ``kind`` is its wire type."""
    head = _varint(number << 3 | kind)
    if kind == _VARINT:
        return head + _varint(value)
    if kind == _DOUBLE:
        return head + struct.pack("<d", value)
    if kind == _FLOAT:
        return head + _float(value)
    return head + _varint(len(value)) + bytes(value)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return b"".join([length, _masked_crc(length), data, _masked_crc(data)])


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> bytes:
    """Return the checksum of a record: CRC-32C, rotated by 15 bits and shifted by a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
