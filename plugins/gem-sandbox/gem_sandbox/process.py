"""Programs as plain processes of this machine, from which nothing is kept: for trusted ones."""

import contextlib
import socket
import subprocess
import sys
import warnings

from gem_sandbox.agent_sandbox import AgentSandbox
from gem_sandbox.agents import Channel, Launcher, agent_arguments

__all__ = ["ProcessSandbox"]


class ProcessSandbox(AgentSandbox):
    """Runs programs with this interpreter, without isolation.

    Each has a temporary folder of its own, limits where the system has them, and at the deadline
    its whole tree of processes is ended; but it can read, write and reach what you can.

    Args:
        workers: How many programs run at a time; None for one a core, 8 at most.
    """

    isolated = False

    def __init__(self, *, workers: int | None = None) -> None:
        warnings.warn(
            "The sandbox 'process' runs programs without isolation: they can read, write and "
            "reach what you can. Use 'warm' or 'docker' for programs that nobody has read.",
            RuntimeWarning,
            stacklevel=2,
        )
        super().__init__("process", ProcessLauncher(), workers)


class ProcessLauncher(Launcher):
    """Starts agents as children of this process."""

    def launch(self) -> Channel:
        return ProcessChannel()


class ProcessChannel(Channel):
    """An agent that is a child of this process, at the other end of a socket pair."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            arguments = agent_arguments(
                command=[sys.executable, "-s"], folders=[], user=None, filters={}
            )
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                [sys.executable, "-I", "-S", *arguments],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                start_new_session=True,
            )

    def write(self, data: bytes) -> None:
        self._socket.settimeout(None)
        self._socket.sendall(data)

    def read(self, timeout: float) -> bytes:
        self._socket.settimeout(timeout)
        return self._socket.recv(1 << 16)

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # it ends its programs, then itself
        self._socket.close()
        self._process.wait()

    def abandon(self) -> None:
        self._socket.close()
        self._process.returncode = 0
