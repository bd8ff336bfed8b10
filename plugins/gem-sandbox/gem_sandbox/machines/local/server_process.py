"""The host's side of a server of machines: starts it, and asks it for machines."""

import marshal
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gem_core
import gem_sandbox
import gem_workers
from gem_core.errors import MachineError, NoMachineError
from gem_sandbox.machines.local.messages import receive, send
from gem_sandbox.machines.local.skeleton import skeleton
from gem_sandbox.machines.memory_file import memory_file
from gem_sandbox.warm.seccomp import machine_filter

__all__ = ["ServerProcess"]

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
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, plan: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        """Ask for a machine, whose control socket is the first descriptor."""
        with self._lock:
            for _ in range(2):
                channel = self._connected()
                try:
                    send(channel, dict(plan), descriptors)
                except OSError:  # it has died
                    self._drop()
                else:
                    return
        raise MachineError("The server of machines has died twice.")

    def _connected(self) -> socket.socket:
        if self._channel is None:
            mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
            parts = (gem_sandbox, gem_core, gem_workers)
            paths = list(dict.fromkeys(str(Path(str(part.__file__)).parents[1]) for part in parts))
            code = _START_SERVER.format(paths=paths, channel=theirs.fileno(), owner=os.getpid())
            boot = memory_file(marshal.dumps(code))
            os.lseek(boot, 0, os.SEEK_SET)
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our code
                    [sys.executable, "-I", "-S", "-c", _BOOT.format(boot)],
                    pass_fds=[theirs.fileno(), boot],
                    cwd="/",
                    env={},
                    stdin=subprocess.DEVNULL,
                )
            os.close(boot)
            entries = memory_file(marshal.dumps((skeleton(), machine_filter())))
            send(mine, None, [entries])
            os.close(entries)
            answer, _ = receive(mine)
            if answer is None or "error" in answer:
                mine.close()
                self._process.wait()
                raise NoMachineError(
                    f"No machine can be started here: {(answer or {}).get('error')}."
                )
            self._channel = mine
        return self._channel

    def _drop(self) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            channel.close()
        if process is not None:
            process.wait()

    def close(self) -> None:
        """End the server and its machines; may be called twice."""
        with self._lock:
            self._drop()

    def forget(self) -> None:
        """Start anew in a forked process; the server belongs to its parent."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.returncode = 0  # or Popen would warn that the process still runs
        self._lock, self._channel, self._process = threading.Lock(), None, None
