"""Monitor a program: collect its output, enforce its limits, and sum up its result."""

import fcntl
import os
import re
import select
import signal
import time
from collections.abc import Collection
from typing import Any

from gem_sandbox.guest.memory import tree_memory
from gem_sandbox.warm.guest.isolation import Isolation
from gem_sandbox.warm.guest.messages import Outcome

__all__ = ["HOST_GONE", "Monitor", "Streams", "file_of", "outcome_of"]

HOST_GONE = "gone"
"""Instead of a limit: the host has closed the connection."""

_CHUNK = 1 << 16
_TICK = 0.05
"""Seconds between measurements of the memory of all processes."""
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_KILLED = 128 + signal.SIGKILL
_SIGNALS = {128 + signal.SIGXCPU: "cpu_time", 128 + signal.SIGXFSZ: "file_size"}
_MESSAGES = (
    ("memory", re.compile(rb"[\w.]*MemoryError\b|OSError: \[Errno 12\]")),
    ("file_size", re.compile(rb"OSError: \[Errno (27|28)\]")),
    ("processes", re.compile(rb"RuntimeError: can't start new thread")),
)
"""How the last line of stderr starts if a call failed because of a limit."""
_CANNOT_FORK = b"BlockingIOError: [Errno 11] Resource temporarily unavailable"
"""Somewhere near the end: forked processes mix their lines."""
_NEAR = 4096


class Streams:
    """A program's standard streams, and its output.

    Args:
        stdin: The content of standard input.
        output_limit: Bytes to keep of stdout, and of stderr.
    """

    def __init__(self, stdin: bytes, output_limit: int) -> None:
        self._output_limit = output_limit
        out, stdout = os.pipe()
        err, stderr = os.pipe()
        self.theirs = [file_of(stdin), stdout, stderr]
        self.kept = {out: bytearray(), err: bytearray()}
        self.open = {out, err}
        for descriptor in self.open:
            os.set_blocking(descriptor, False)

    def close_theirs(self) -> None:
        """Close the program's ends in this process."""
        for descriptor in self.theirs:
            os.close(descriptor)
        self.theirs = []

    def read(self, descriptor: int) -> bool:
        """Read what is available; return whether the limit is exceeded."""
        kept = self.kept[descriptor]
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.open.discard(descriptor)
        space = self._output_limit - len(kept)
        kept += chunk[:space]
        return len(chunk) > space

    def drain(self, ready: Collection[int]) -> bool:
        """Read all that has been written to these; return whether the limit is exceeded."""
        over = False
        for descriptor in self.open.intersection(ready):
            is_full = True
            while is_full and not over:
                before = len(self.kept[descriptor])
                over = self.read(descriptor)
                is_full = len(self.kept[descriptor]) - before == _CHUNK
        return over

    def take(self) -> tuple[bytes, bytes]:
        """Return the output since the last call."""
        out, err = (bytes(kept) for kept in self.kept.values())
        for kept in self.kept.values():
            kept.clear()
        return out, err

    def close(self) -> None:
        """Close all ends in this process."""
        self.close_theirs()
        for descriptor in self.kept:
            os.close(descriptor)


def file_of(content: bytes) -> int:
    """Return the descriptor of a file in memory, whose content cannot be changed.

    It is also the standard input of a program without any: ``/dev/null`` would be the host's
    device, whose times the program could set through the descriptor.
    """
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], written)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


class Monitor:
    """Watches a running program.

    Args:
        init: The process id of the isolation scope's init process.
        streams: The program's standard streams.
        isolation: Finds the program's processes and files.
        limits: The program's limits.
        signs: Descriptors that become readable when the program has ended, or finished a piece.
        host: A descriptor that becomes readable when the host gives up.
    """

    def __init__(
        self,
        init: int,
        streams: Streams,
        isolation: Isolation,
        limits: dict[str, Any],
        *,
        signs: set[int],
        host: int,
    ) -> None:
        self._init = init
        self._streams = streams
        self._isolation = isolation
        self.limits = limits
        self._signs = signs
        self._host = host
        self.peak = 0
        self.ready: set[int] = set()
        """The descriptors that were readable at the last poll."""
        self._poll = select.poll()
        for descriptor in (*signs, *streams.open, host):
            self._poll.register(descriptor, select.POLLIN)

    def wait(self, end: float) -> str:
        """Wait for a sign; return the limit that is met first, or an empty string."""
        next_check = time.monotonic() + _TICK
        while True:
            now = time.monotonic()
            if now >= end:
                return "wall_time"
            if now >= next_check:
                next_check = now + _TICK
                if limit := self.check_processes():
                    return limit
            milliseconds = max(0.0, min(end, next_check) - now) * 1000
            self.ready = {descriptor for descriptor, _ in self._poll.poll(milliseconds)}
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
        """Stop waiting for that sign."""
        self._signs.discard(sign)
        self._poll.unregister(sign)

    def check_processes(self) -> str:
        """Measure all processes; return the limit that they exceed together, if any."""
        pids = self._isolation.processes(self._init)
        files = self._isolation.files_size(self._init, pids)
        used = tree_memory(pids, files, self.limits["memory"])
        self.peak = max(self.peak, used)
        if used > self.limits["memory"]:
            return "memory"
        return "processes" if len(pids) > self.limits["processes"] + _OURS else ""


_OURS = 1
"""Processes of the scope below its init process that are not the program's: a fork server."""


def outcome_of(
    end: tuple[int, int, float],
    limit: str,
    duration: float,
    output: tuple[bytes, bytes],
    cpu_time: float,
) -> Outcome:
    """Sum up a program that ended by itself, or was ended by a limit.

    Args:
        end: The wait status, peak memory in bytes and seconds of CPU time.
        limit: The limit that ended it, or an empty string.
        duration: Seconds of wall time.
        output: What it wrote to stdout and stderr.
        cpu_time: The limit of its CPU time in seconds.
    """
    status, peak, seconds = end
    is_known = not limit  # a killed program has no report
    code = os.waitstatus_to_exitcode(status)
    code = _KILLED if limit else code if code >= 0 else 128 - code
    if not limit and code:
        limit = _limit_met(code, output[1], late=seconds >= cpu_time)
    return Outcome(code, limit, duration, seconds if is_known else -1.0, peak, *output)


def _limit_met(code: int, stderr: bytes, *, late: bool) -> str:
    """Return the limit that made the program fail, if any."""
    if code == _KILLED and late:
        return "cpu_time"
    last = stderr.rstrip().rpartition(b"\n")[2]
    if limit := _SIGNALS.get(code):
        return limit
    matching = (limit for limit, pattern in _MESSAGES if pattern.match(last))
    return next(matching, "processes" if _CANNOT_FORK in stderr[-_NEAR:] else "")
