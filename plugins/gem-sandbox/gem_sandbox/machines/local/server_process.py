"""The host's side of a server of machines: starts it, and asks it for machines."""

import contextlib
import marshal
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gem_core
import gem_sandbox
import gem_workers
from gem_core.errors import MachineError, NoMachineError
from gem_core.lifetimes import Lock
from gem_sandbox.machines.local.messages import receive, send
from gem_sandbox.machines.local.skeleton import skeleton
from gem_sandbox.machines.memory_file import memory_file
from gem_sandbox.warm.seccomp import machine_filter

__all__ = ["ServerProcess"]

_START_SECONDS, _END_SECONDS, _DYING_SECONDS = 60.0, 5.0, 1.0
"""Seconds in which a server must have started, or take a request; must have ended after it was told
to; and must be gone after it has closed its channel itself."""
_BOOT = "import os, marshal; exec(marshal.loads(os.read({}, 1 << 16)))"
"""The rest comes in a file: machines can see the command line."""
_START_SERVER = """\
import sys
sys.path[:0] = {paths!r}
from gem_sandbox.machines.local.server import main
main({channel}, {owner})
"""


class ServerProcess:
    """The connection to a server; it is started when there is a first machine."""

    def __init__(self) -> None:
        self._lock = Lock()
        """Held while the server starts, for which all that want a machine wait."""
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = self._is_closed = False

    def start(self, plan: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        """Ask for a machine, whose control socket is the first descriptor.

        Raises:
            MachineError: The server cannot be started, or this is closed.
        """
        for _ in range(2):
            with self._lock:
                channel = self._connected()
            try:
                send(channel, dict(plan), descriptors)
            except OSError:  # it has died
                with self._lock:
                    if self._channel is channel:
                        self._drop()
            else:
                return
        raise MachineError("The server of machines has died twice.")

    def has_died(self) -> bool:
        """Return whether the server has ended by itself, perhaps just now."""
        process = self._process
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process is None or process.wait(_DYING_SECONDS) is not None
        return False

    def _connected(self) -> socket.socket:
        if self._is_closed:
            raise MachineError("This provider is closed.")
        if self._channel is None or not self._is_ready:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
            self._channel.settimeout(_START_SECONDS)
            try:
                with theirs:
                    self._process = _start(theirs)
                answer = _greet(self._channel)
            except BaseException:
                self._drop()
                raise
            if "error" in answer:
                self._drop()
                raise NoMachineError(f"No machine can be started here: {answer['error']}.")
            self._is_ready = True
        return self._channel

    def _drop(self) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        self._is_ready = False
        if channel is not None:
            _hang_up(channel)
            channel.close()
        if process is not None:
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_END_SECONDS)

    def close(self) -> None:
        """End the server and its machines; may be called twice.

        One that does not end within 5 seconds is killed.
        """
        self._is_closed = True
        channel = self._channel
        if channel is not None:
            _hang_up(channel)  # also if another thread waits for its start
        with self._lock:
            self._drop()

    def forget(self) -> None:
        """Close the connection, in a fork: the server belongs to its parent."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.returncode = 0  # or Popen would warn that the process still runs


def _start(channel: socket.socket) -> "subprocess.Popen[bytes]":
    """Start a server with its end of a channel."""
    parts = (gem_sandbox, gem_core, gem_workers)
    paths = list(dict.fromkeys(str(Path(str(part.__file__)).parents[1]) for part in parts))
    code = _START_SERVER.format(paths=paths, channel=channel.fileno(), owner=os.getpid())
    boot = memory_file(marshal.dumps(code))
    try:
        os.lseek(boot, 0, os.SEEK_SET)
        return subprocess.Popen(  # noqa: S603 - this interpreter, our code
            [sys.executable, "-I", "-S", "-c", _BOOT.format(boot)],
            pass_fds=[channel.fileno(), boot],
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
        )
    finally:
        os.close(boot)


def _greet(channel: socket.socket) -> dict[str, Any]:
    """Send a new server the files and the filter of machines; return its answer."""
    entries = memory_file(marshal.dumps((skeleton(), machine_filter())))
    try:
        send(channel, None, [entries])
        answer, _ = receive(channel)
    except OSError as error:
        return {"error": f"its server does not answer: {error}"}
    finally:
        os.close(entries)
    return answer or {"error": "its server has ended"}


def _hang_up(channel: socket.socket) -> None:
    """End the stream; to close it is not enough, as a fork of this process may hold it."""
    with contextlib.suppress(OSError):
        channel.shutdown(socket.SHUT_RDWR)
