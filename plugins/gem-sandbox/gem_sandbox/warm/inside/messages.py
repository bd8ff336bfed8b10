"""What host, supervisors and runs say to each other, in frames of ``gem_core.workers.frames``.

Towards a run a body is marshalled. Nothing that comes out is unpickled or unmarshalled: it is a
header of numbers, and two texts.
"""

import resource
import struct
from typing import NamedTuple

__all__ = [
    "CELL",
    "END",
    "ENDED",
    "LIMITS",
    "NEXT",
    "RUN",
    "SESSION",
    "TESTS",
    "Outcome",
    "pack_end",
    "unpack_end",
    "unpack_outcomes",
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
"""The end of tests or of a session; answered by an ``ENDED`` without a body."""
ENDED = b"="
"""From a supervisor: an ``Outcome``, or several after one another."""

LIMITS = ("", "wall_time", "cpu_time", "memory", "processes", "output", "file_size")
_HEADER = struct.Struct("!iBdQQQ")
_END = struct.Struct("!iQd")


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


def pack_end(status: int, usage: resource.struct_rusage) -> bytes:
    """Return how a process ended as bytes."""
    return _END.pack(status, usage.ru_maxrss << 10, usage.ru_utime + usage.ru_stime)


def unpack_end(message: bytes) -> tuple[int, int, float]:
    """Return how a process ended: its wait status, most bytes and seconds of CPU time.

    Raises:
        struct.error: It is no such message.
    """
    status, peak, seconds = _END.unpack(message)
    return status, peak, seconds
