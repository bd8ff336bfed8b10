"""Frames: what a host and its workers send each other over a socket.

A frame is a kind, whether the worker leaves after it, the length of its body, and the body. What
may befall a call is a frame too, made where it is noticed: the end of a stream reads as ``DIED``.
"""

import struct
from typing import NamedTuple

__all__ = [
    "CALL",
    "CHUNK",
    "DIED",
    "LATE",
    "NOT_BEGUN",
    "OUT_OF_MEMORY",
    "RAISED",
    "READY",
    "RESULT",
    "Frame",
    "FrameReader",
    "pack",
]

CALL = b"C"
"""To a worker: the pickle of a target and its arguments."""
READY = b"R"
"""From a template or a worker: it can be asked."""
RESULT = b"="
"""From a worker: the pickle of what a function returned."""
RAISED = b"!"
"""From a worker or a template: the pickle of (summary, traceback) of an error."""
OUT_OF_MEMORY = b"M"
"""From a worker, which leaves."""
DIED = b"D"
"""From a template, about a worker: the exit status as text, empty if unknown."""
LATE = b"L"
"""Never sent: the deadline passed."""
NOT_BEGUN = b"N"
"""Never sent: the worker was dead before it was asked."""

CHUNK = 1 << 16
"""Bytes to read at once."""
_HEADER = struct.Struct("!c?Q")


class Frame(NamedTuple):
    """A message. ``last``: nothing comes after it, as its worker leaves or is gone."""

    kind: bytes
    last: bool = False
    body: memoryview | bytes = b""


def pack(kind: bytes, body: bytes = b"", *, last: bool = False) -> bytes:
    """Return a frame as bytes."""
    return _HEADER.pack(kind, last, len(body)) + body


class FrameReader:
    """Puts one frame together from what is read."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, chunk: bytes) -> Frame | None:
        """Take what was read next, empty at the end of the stream; return the frame once whole."""
        if not chunk:
            return Frame(DIED, last=True)
        received = self._received
        received += chunk
        if len(received) < _HEADER.size:
            return None
        kind, last, length = _HEADER.unpack_from(received)
        if len(received) < _HEADER.size + length:
            return None
        return Frame(kind, last, memoryview(received)[_HEADER.size :])
