"""What host, supervisors and runs say to each other, in frames of ``gem_workers.frames``.

Towards a run a body is marshalled. Nothing that comes out is unpickled or unmarshalled: it is a
header of numbers, and two texts.
"""

import marshal
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = [
    "CELL",
    "END",
    "ENDED",
    "LIMITS",
    "NEXT",
    "OVER",
    "RUN",
    "SESSION",
    "TEST",
    "TESTS",
    "Outcome",
    "Request",
    "pack_request",
    "pack_room",
    "unpack_outcomes",
    "unpack_request",
    "unpack_room",
]

RUN = b"X"
"""A program, its limits and its standard input."""
TESTS = b"T"
"""A program that is to run several times, its limits, and the first standard inputs."""
NEXT = b"N"
"""The standard inputs of the next runs of the same program."""
SESSION = b"S"
"""The limits of a session, and its first piece."""
CELL = b"L"
"""A piece of source, and seconds."""
END = b"E"
"""The end of tests or of a session; answered by an ``ENDED`` without a body.

From a room: its program has ended.
"""
ENDED = b"="
"""From a supervisor: an ``Outcome``, or several after one another."""
TEST = b"G"
"""To a run of tests: the standard input of the next one comes along."""
OVER = b"O"
"""To a run of tests: there are no more. Sent twice: who waits for the next one reads it too."""

LIMITS = ("", "wall_time", "cpu_time", "memory", "processes", "output", "file_size")
_HEADER = struct.Struct("!iBdQQQ")
_ROOM = struct.Struct("!2Q")
_MOST = 1 << 62
_ROOM_LIMITS = "memory", "disk"


class Outcome(NamedTuple):
    """What became of a program."""

    exit_status: int
    limit: str
    duration: float
    peak_memory: int
    stdout: bytes
    stderr: bytes

    def pack(self) -> bytes:
        """Return it as bytes."""
        header = _HEADER.pack(
            self.exit_status,
            LIMITS.index(self.limit),
            self.duration,
            self.peak_memory,
            len(self.stdout),
            len(self.stderr),
        )
        return header + self.stdout + self.stderr


def unpack_outcomes(body: bytes) -> list[Outcome]:
    """Return outcomes that were packed and put after one another.

    Raises:
        ValueError, struct.error, IndexError: They were not.
    """
    outcomes = []
    start = 0
    while start < len(body):
        status, limit, duration, peak, out, err = _HEADER.unpack_from(body, start)
        start += _HEADER.size
        middle, end = start + out, start + out + err
        if end > len(body):
            raise ValueError(f"outcomes of {end} bytes in {len(body)}")
        said = body[start:middle], body[middle:end]
        outcomes.append(Outcome(status, LIMITS[limit], duration, peak, *said))
        start = end
    return outcomes


def pack_room(limits: Mapping[str, Any]) -> bytes:
    """Return, as bytes, the limits that all programs of a room have."""
    return _ROOM.pack(*(min(limits[name], _MOST) for name in _ROOM_LIMITS))


def unpack_room(message: bytes) -> dict[str, int]:
    """Return the limits of a room."""
    return dict(zip(_ROOM_LIMITS, _ROOM.unpack(message), strict=True))


class Request(NamedTuple):
    """What the process of a program is told; of a session's, the limits only.

    Args:
        file_size: Bytes of a file.
        cpu_time: Seconds.
        processes: How many.
        source: What the program says.
        files: What is to lie beside it, by name.
        arguments: Its command line.
        supply_names: Whether names that it does not import are there for it.
        tests: How often it runs, if for several inputs.
    """

    file_size: int
    cpu_time: int
    processes: int
    source: bytes = b""
    files: Mapping[str, bytes] = {}
    arguments: Sequence[str] = ()
    supply_names: bool = False
    tests: int = 0


def pack_request(request: Mapping[str, Any]) -> bytes:
    """Return what a process must know of what a host has asked for, as bytes."""
    return marshal.dumps(tuple(request[name] for name in Request._fields if name in request))


def unpack_request(content: bytes) -> Request:
    """Return a request that was packed."""
    return Request(*marshal.loads(content))  # noqa: S302 - from our supervisor
