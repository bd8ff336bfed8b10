"""The streams of a process that the engine has started in a container.

The engine sends standard output and standard error in frames of its own over one connection. What
our scripts report is among them: so a report comes after all that was written before it.
"""

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from gem_core.errors import MachineError
from gem_sandbox.docker_connection import close, frames, raw_socket
from gem_sandbox.machines.local.messages import STATUS
from gem_sandbox.machines.reports import Reports

__all__ = ["JobStreams"]

_CHUNK = 1 << 16
_END_SECONDS = 5.0
_LONGEST = 5000
"""Bytes of a report: the kernel writes a pipe's first 4096 in one piece."""
_REPORT = re.compile(rb"b(\d+) (\d+) ([\d.]+)\0|e(\d+) (\d+)\0|x([^\0]*)\0")
_STDOUT, _STDERR = 1, 2
_SIGNALLED = 128


class JobStreams:
    """Connects the streams of a job with descriptors of this process, in threads.

    Args:
        stream: The connection to the process, as docker-py returns it.
        mark: What precedes reports.
        outputs: Descriptors by the number of the stream: 1 and 2, or 1 for a shell.
        exit_code: Returns the exit code that the engine knows; None if it knows none.

    Raises:
        MachineError: The connection cannot be read with these versions of the libraries.
    """

    def __init__(
        self,
        stream: Any,
        mark: bytes,
        outputs: Mapping[int, int],
        *,
        exit_code: Callable[[], int | None],
    ) -> None:
        self._stream, self._frames = stream, frames(stream)
        self.connection = raw_socket(stream)
        self._mark = mark
        self._outputs = {stream: os.dup(one) for stream, one in outputs.items()}
        self._exit_code = exit_code
        self.status, self._status_to = os.pipe()
        """The descriptor from which ``STATUS`` can be read at the end."""
        self._code: int | None = None
        self._is_out_of_memory = False
        self._begun = threading.Event()
        self._ended = threading.Event()
        self.pid = self.group = 0
        """The job's process id and its process group, when it has begun."""
        self.booted = 0.0
        """When the uptime of the machine was 0, as ``time.monotonic`` counts; or a bit later."""
        self.refusal = ""
        """Why the job could not begin."""
        threading.Thread(target=self._read, daemon=True).start()

    def wait_begun(self, timeout: float) -> bool:
        """Wait until the job runs; return whether it does."""
        self._begun.wait(timeout)
        return self.pid > 0

    def send(self, data: bytes) -> None:
        """Send standard input."""
        with contextlib.suppress(OSError):  # the end of the other streams says it
            self.connection.sendall(data)

    def feed(self, source: int) -> None:
        """Send what a descriptor yields as standard input, until its end."""
        self.forward(source, self.connection.sendall, lambda: self.connection.shutdown(1))

    def forward(
        self, source: int, take: Callable[[bytes], object], end: Callable[[], object] = bool
    ) -> None:
        """Pass on what a descriptor yields, in a thread.

        Args:
            source: The descriptor.
            take: Called for each piece.
            end: Called at its end.
        """
        arguments = (os.dup(source), take, end)
        threading.Thread(target=_forward, args=arguments, daemon=True).start()

    def killed(self, number: int, patience: float) -> None:
        """Report that the job was killed, if it does not say itself how it has ended."""
        if not self._ended.wait(patience):
            self._code = _SIGNALLED + number
            self.hang_up()

    def close(self) -> None:
        """End the connection, and close the status; wait some seconds until all was read."""
        self.hang_up()
        self._ended.wait(_END_SECONDS)
        os.close(self.status)

    def hang_up(self) -> None:
        """End the connection."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        streams = {number: Reports(self._mark, _REPORT, _LONGEST) for number in self._outputs}
        running = set(streams)
        try:
            for number, data in self._frames:
                if number not in streams:
                    continue
                for part in streams[number].take(data):
                    if isinstance(part, bytes):
                        self._take_text(number, part)
                    elif self._take(part):
                        running.discard(number)
                if not running:
                    break
        except OSError:
            pass  # the connection is lost
        finally:
            self._end()

    def _take_text(self, number: int, text: bytes) -> None:
        """Pass on what the job wrote.

        The job reports on standard output before it writes there, so text before that is the
        engine's, which says why it has started nothing.
        """
        if number == _STDOUT and not self.pid:
            self.refusal += text.decode("utf-8", "replace").strip()
        else:
            self._write(self._outputs[number], text)

    def _write(self, target: int, data: bytes) -> None:
        rest = memoryview(data)
        with contextlib.suppress(OSError):  # nobody reads any more
            while rest:
                rest = rest[os.write(target, rest) :]

    def _take(self, report: re.Match[bytes]) -> bool:
        """Take a report; return whether it is the last of its stream."""
        pid, group, uptime, code, killed, refusal = report.groups()
        if pid is not None:
            self.pid, self.group = int(pid), int(group)
            self.booted = time.monotonic() - float(uptime)
            self._begun.set()
        elif code is not None:
            self._code, self._is_out_of_memory = int(code), int(killed) > 0
            return True
        else:
            self.refusal = refusal.decode("utf-8", "replace")
        return False

    def _end(self) -> None:
        code = self._exit_code() if self._code is None else self._code
        self.hang_up()
        close(self._stream)
        if code is not None:
            status = STATUS.pack(code << 8, 0, self._is_out_of_memory)
            self._write(self._status_to, status)
        for descriptor in (self._status_to, *self._outputs.values()):
            os.close(descriptor)
        self._ended.set()
        self._begun.set()


def _forward(source: int, take: Callable[[bytes], object], end: Callable[[], object]) -> None:
    with contextlib.suppress(OSError, MachineError):  # nobody listens any more
        while data := os.read(source, _CHUNK):
            take(data)
        end()
    os.close(source)
