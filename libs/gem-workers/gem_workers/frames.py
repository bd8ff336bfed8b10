"""Frames: the messages that a host and its workers exchange over a socket.

A frame has a header (kind, ``last`` flag, length of the body) and a body. The ways in which a call
can fail are frames too, created where the failure is noticed: the end of a stream reads as
``DIED``.
"""

import struct
from typing import BinaryIO, NamedTuple

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
    "read_frame",
]

CALL = b"C"
"""To a worker: the pickle of a target and its arguments."""
READY = b"R"
"""From a template or a worker: it is ready for requests."""
RESULT = b"="
"""From a worker: the pickle of a return value."""
RAISED = b"!"
"""From a worker or a template: the pickle of an error's summary and traceback."""
OUT_OF_MEMORY = b"M"
"""From a worker, which then exits."""
DIED = b"D"
"""From a template, about a worker: the exit status as text, empty if unknown."""
LATE = b"L"
"""Never sent: the deadline passed."""
NOT_BEGUN = b"N"
"""Never sent: the worker was dead before it got the request."""

CHUNK = 1 << 16
"""Bytes per read."""
_HEADER = struct.Struct("!c?Q")


class Frame(NamedTuple):
    """A message; ``last`` if nothing follows it because its worker exits or is dead."""

    kind: bytes
    last: bool = False
    body: memoryview | bytes = b""


def pack(kind: bytes, body: bytes = b"", *, last: bool = False) -> bytes:
    """Return a frame as bytes."""
    return _HEADER.pack(kind, last, len(body)) + body


class FrameReader:
    """Assembles one frame from chunks of bytes."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, chunk: bytes) -> Frame | None:
        """Add the next chunk, empty at the end of the stream; return the frame once complete."""
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


def read_frame(stream: BinaryIO) -> Frame:
    """Read the next frame of a buffered stream; ``DIED`` if the stream has ended or broken off."""
    try:
        header = stream.read(_HEADER.size)
        if len(header) == _HEADER.size:
            kind, last, length = _HEADER.unpack(header)
            body = stream.read(length)
            if len(body) == length:
                return Frame(kind, last, body)
    except OSError:  # a dead process left data unread
        pass
    return Frame(DIED, last=True)
