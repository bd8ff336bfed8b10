"""Messages between the host, supervisors and runs, in frames of ``gem_workers.frames``.

Bodies on the way to a run are marshalled. Nothing from a run is unpickled or unmarshalled: it is a
header of numbers, and two byte strings.
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
    "LOST",
    "NEXT",
    "NO_MORE_TESTS",
    "RUN",
    "SESSION",
    "TEST",
    "TESTS",
    "Outcome",
    "Request",
    "pack_request",
    "pack_scope_limits",
    "unpack_outcomes",
    "unpack_request",
    "unpack_scope_limits",
]

RUN = b"X"
"""A program, its limits and its standard input."""
TESTS = b"T"
"""A program that runs several times, its limits, and the first standard inputs."""
NEXT = b"N"
"""The standard inputs of the next runs of the same program."""
SESSION = b"S"
"""The limits of a session, and its first piece."""
CELL = b"L"
"""A piece of source, and its timeout in seconds."""
END = b"E"
"""From the host: the end of tests or of a session, answered by an ``ENDED`` without a body.

From an isolation scope: its program has ended.
"""
ENDED = b"="
"""From a supervisor: one or more packed ``Outcome``."""
LOST = b"I"
"""From a supervisor: the session ended while it was idle, and why; the piece was not run."""
TEST = b"G"
"""To a fork server: the descriptor of the next standard input comes with it."""
NO_MORE_TESTS = b"O"
"""To a fork server. Sent twice, because the fork that waits for the next input reads one."""

LIMITS = ("", "wall_time", "cpu_time", "memory", "processes", "output", "file_size")
_HEADER = struct.Struct("!iBddQQQ")
_SCOPE_LIMITS = struct.Struct("!2Q")
_HIGHEST = 1 << 62
_SCOPE_LIMIT_NAMES = "memory", "disk"


class Outcome(NamedTuple):
    """The result of a program, as a supervisor sends it."""

    exit_status: int
    limit: str
    duration: float
    cpu_time: float
    """Seconds of CPU time; below 0 if unknown."""
    peak_memory: int
    stdout: bytes
    stderr: bytes

    def pack(self) -> bytes:
        """Return the outcome as bytes."""
        header = _HEADER.pack(
            self.exit_status,
            LIMITS.index(self.limit),
            self.duration,
            self.cpu_time,
            self.peak_memory,
            len(self.stdout),
            len(self.stderr),
        )
        return header + self.stdout + self.stderr


def unpack_outcomes(body: bytes) -> list[Outcome]:
    """Return the outcomes in a sequence of packed ones.

    Raises:
        ValueError, struct.error, IndexError: The bytes are something else.
    """
    outcomes = []
    start = 0
    while start < len(body):
        status, limit, duration, seconds, peak, out, err = _HEADER.unpack_from(body, start)
        start += _HEADER.size
        middle, end = start + out, start + out + err
        if end > len(body):
            raise ValueError(f"outcomes of {end} bytes in {len(body)}")
        streams = body[start:middle], body[middle:end]
        outcomes.append(Outcome(status, LIMITS[limit], duration, seconds, peak, *streams))
        start = end
    return outcomes


def pack_scope_limits(limits: Mapping[str, Any]) -> bytes:
    """Return, as bytes, the limits that all programs of an isolation scope have."""
    return _SCOPE_LIMITS.pack(*(min(limits[name], _HIGHEST) for name in _SCOPE_LIMIT_NAMES))


def unpack_scope_limits(message: bytes) -> dict[str, int]:
    """Return the limits of an isolation scope."""
    return dict(zip(_SCOPE_LIMIT_NAMES, _SCOPE_LIMITS.unpack(message), strict=True))


class Request(NamedTuple):
    """A program for the process that runs it; for a session, the limits only.

    Args:
        file_size: Bytes of the largest file.
        cpu_time: Seconds of CPU time for each process.
        processes: The number of processes and threads.
        source: The source.
        files: The files in its working directory, by name.
        arguments: The command-line arguments.
        supply_names: Whether to supply common names that the program does not import.
        tests: The number of runs, if there are several inputs.
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
    """Return the part of a host's request that the program's process needs, as bytes."""
    return marshal.dumps(tuple(request[name] for name in Request._fields if name in request))


def unpack_request(content: bytes) -> Request:
    """Return a packed request."""
    return Request(*marshal.loads(content))  # noqa: S302 - from our supervisor
