"""The sandbox ``process``: plain processes of this machine, for trusted programs only."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import warnings

from gem_core.errors import SandboxError
from gem_sandbox.runner import WRITE_SECONDS, Channel, Launcher, runner_arguments
from gem_sandbox.runner_sandbox import RunnerSandbox
from gem_sandbox.shortage import shortage

__all__ = ["ProcessSandbox"]

_END_SECONDS = 5.0
"""A runner that has not ended this long after its channel is killed."""


class ProcessSandbox(RunnerSandbox):
    """Runs programs with this interpreter, without isolation.

    Each program has its own temporary folder, limits where the system has them, and its whole
    tree of processes is killed at the deadline. But it can read, write and reach what you can.

    Args:
        workers: The number of programs that may run at the same time; None for one per core, at
            most 8.
    """

    isolated = False

    def __init__(self, *, workers: int | None = None) -> None:
        warnings.warn(
            "The sandbox 'process' runs programs without isolation: they can read, write and "
            "reach what you can. Use 'warm' or 'docker' for untrusted programs.",
            RuntimeWarning,
            stacklevel=2,
        )
        super().__init__("process", ProcessLauncher(), workers)


class ProcessLauncher(Launcher):
    """Starts runners as children of this process."""

    def launch(self) -> Channel:
        try:
            return ProcessChannel()
        except OSError as error:
            reason = shortage(error) or str(error)
            raise SandboxError(f"The sandbox 'process' cannot start: {reason}.") from error


class ProcessChannel(Channel):
    """A socket pair to a runner that is a child of this process."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            arguments = runner_arguments(
                command=[sys.executable, "-s"], folders=[], user=None, filters={}
            )
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                [sys.executable, "-I", "-S", *arguments],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                start_new_session=True,
            )

    def write(self, data: bytes) -> None:
        self._socket.settimeout(WRITE_SECONDS)
        self._socket.sendall(data)

    def read(self, timeout: float) -> bytes:
        self._socket.settimeout(timeout)
        return self._socket.recv(1 << 16)

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # the runner ends its programs, then itself

    def kill(self) -> None:
        self.hang_up()
        self._socket.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_END_SECONDS)

    def abandon(self) -> None:
        self._socket.close()
        self._process.returncode = 0  # or Popen would warn that the process still runs
