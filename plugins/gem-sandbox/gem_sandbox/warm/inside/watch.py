"""Watch over a program: keep what it writes, notice its limits, and say what became of it."""

import fcntl
import os
import re
import select
import signal
import time
from collections.abc import Collection
from typing import Any

from gem_sandbox.warm.inside.memory import tree_memory
from gem_sandbox.warm.inside.messages import Outcome
from gem_sandbox.warm.inside.walls import Walls

__all__ = ["HOST_GONE", "Streams", "Watch", "file_of", "outcome_of", "stdin_of"]

HOST_GONE = "gone"
"""In place of a limit: the host has hung up."""

_CHUNK = 1 << 16
_TICK = 0.05
"""Seconds between looks at the memory of all processes."""
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_KILLED = 128 + signal.SIGKILL
_SIGNALS = {128 + signal.SIGXCPU: "cpu_time", 128 + signal.SIGXFSZ: "file_size"}
_SAID = (
    ("memory", re.compile(rb"[\w.]*MemoryError\b|OSError: \[Errno 12\]")),
    ("file_size", re.compile(rb"OSError: \[Errno (27|28)\]")),
    ("processes", re.compile(rb"RuntimeError: can't start new thread")),
)
"""How the last line of an uncaught error begins when a limit made a call fail."""
_CANNOT_FORK = b"BlockingIOError: [Errno 11] Resource temporarily unavailable"
"""Somewhere near the end: those who could fork write between each other's lines."""
_NEAR = 4096


class Streams:
    """A program's standard streams, and what it wrote.

    Args:
        stdin: What it is to read.
        most: Bytes to keep of each stream that it writes.
    """

    def __init__(self, stdin: bytes, most: int) -> None:
        self._most = most
        out, stdout = os.pipe()
        err, stderr = os.pipe()
        self.theirs = [stdin_of(stdin), stdout, stderr]
        self.kept = {out: bytearray(), err: bytearray()}
        self.open = {out, err}
        for descriptor in self.open:
            os.set_blocking(descriptor, False)

    def close_theirs(self) -> None:
        """Leave the other ends to the program."""
        for descriptor in self.theirs:
            os.close(descriptor)
        self.theirs = []

    def read(self, descriptor: int) -> bool:
        """Read what has come; tell whether it is more than is kept."""
        kept = self.kept[descriptor]
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.open.discard(descriptor)
        room = self._most - len(kept)
        kept += chunk[:room]
        return len(chunk) > room

    def drain(self, ready: Collection[int]) -> bool:
        """Read all that has been written to these; tell whether it is more than is kept."""
        over = False
        for descriptor in self.open.intersection(ready):
            is_full = True
            while is_full and not over:
                before = len(self.kept[descriptor])
                over = self.read(descriptor)
                is_full = len(self.kept[descriptor]) - before == _CHUNK
        return over

    def take(self) -> tuple[bytes, bytes]:
        """Return what was written since it was last taken."""
        out, err = (bytes(kept) for kept in self.kept.values())
        for kept in self.kept.values():
            kept.clear()
        return out, err

    def close(self) -> None:
        """Close our ends."""
        self.close_theirs()
        for descriptor in self.kept:
            os.close(descriptor)


def stdin_of(text: bytes) -> int:
    """Return a descriptor to read a text from."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY)
    return file_of(text)


def file_of(content: bytes) -> int:
    """Return the descriptor of a file in memory that nobody can change."""
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], written)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


class Watch:
    """A running program.

    Args:
        first: The first process of its room.
        streams: Its standard streams.
        walls: How to look at all of it.
        limits: What it may use.
        signs: Descriptors that are readable when it has ended, or done what was asked.
        host: A descriptor that is readable when the host wants no more.
    """

    def __init__(
        self,
        first: int,
        streams: Streams,
        walls: Walls,
        limits: dict[str, Any],
        *,
        signs: set[int],
        host: int,
    ) -> None:
        self._first = first
        self._streams = streams
        self._walls = walls
        self.limits = limits
        self._signs = signs
        self._host = host
        self.peak = 0
        self.ready: set[int] = set()
        """What could be read when last looked at."""
        self._poll = select.poll()
        for descriptor in (*signs, *streams.open, host):
            self._poll.register(descriptor, select.POLLIN)

    def wait(self, end: float) -> str:
        """Wait for a sign; return the limit that is met before, if one is."""
        look = time.monotonic() + _TICK
        while True:
            now = time.monotonic()
            if now >= end:
                return "wall_time"
            if now >= look:
                look = now + _TICK
                if limit := self.look():
                    return limit
            most = max(0.0, min(end, look) - now) * 1000
            self.ready = {descriptor for descriptor, _ in self._poll.poll(most)}
            for descriptor in self.ready:
                if descriptor in self._signs:
                    return ""
                if descriptor == self._host:
                    return HOST_GONE
                if self._streams.read(descriptor):
                    return "output"
                if descriptor not in self._streams.open:
                    self._poll.unregister(descriptor)

    def forget(self, sign: int) -> None:
        """Wait for that sign no longer."""
        self._signs.discard(sign)
        self._poll.unregister(sign)

    def look(self) -> str:
        """Look at all processes; return the limit that they exceed together."""
        pids = self._walls.processes(self._first)
        files = self._walls.files_size(self._first, pids)
        used = tree_memory(pids, files, self.limits["memory"])
        self.peak = max(self.peak, used)
        if used > self.limits["memory"]:
            return "memory"
        return "processes" if len(pids) > self.limits["processes"] + _OURS else ""


_OURS = 1
"""Of a room's processes, besides the first: the one that runs one program for several inputs."""


def outcome_of(
    end: tuple[int, int, float], limit: str, duration: float, said: tuple[bytes, bytes], cpu: float
) -> Outcome:
    """Sum up a program that has ended: by itself, or at a limit.

    Args:
        end: Its wait status, most bytes and seconds of CPU time.
        limit: The limit at which it was ended.
        duration: Seconds.
        said: What it wrote.
        cpu: Seconds of CPU time that it might use.
    """
    status, peak, seconds = end
    code = os.waitstatus_to_exitcode(status)
    code = _KILLED if limit else code if code >= 0 else 128 - code
    if not limit and code:
        limit = _limit_met(code, said[1], late=seconds >= cpu)
    return Outcome(code, limit, duration, peak, *said)


def _limit_met(code: int, stderr: bytes, *, late: bool) -> str:
    """Return the limit that made a program fail by itself."""
    if code == _KILLED and late:
        return "cpu_time"
    last = stderr.rstrip().rpartition(b"\n")[2]
    if limit := _SIGNALS.get(code):
        return limit
    said = (limit for limit, pattern in _SAID if pattern.match(last))
    return next(said, "processes" if _CANNOT_FORK in stderr[-_NEAR:] else "")
