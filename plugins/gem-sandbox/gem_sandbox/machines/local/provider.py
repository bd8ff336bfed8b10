"""The provider ``local``: machines that start in milliseconds and are forked in mid-episode."""

import contextlib
import functools
import marshal
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import gem_core
import gem_sandbox
import gem_workers
from gem_core.errors import ConfigError, MachineError, SnapshotError
from gem_core.machine import MachineSnapshot, MachineSpec
from gem_sandbox.machines.base import BaseMachine, Job
from gem_sandbox.machines.local.messages import STATUS, receive, send
from gem_sandbox.machines.local.skeleton import skeleton
from gem_sandbox.machines.memory_file import memory_file
from gem_sandbox.warm.seccomp import machine_filter

__all__ = ["LocalMachine", "LocalProvider"]

_BOOT = "import os, marshal; exec(marshal.loads(os.read({}, 1 << 16)))"
"""The rest comes in a file: machines can see the command line."""
_START_SERVER = """\
import sys
sys.path[:0] = {paths!r}
from gem_sandbox.machines.local.server import main
main({channel}, {owner})
"""
_START = 30.0
_SYSTEM = ("/usr",)
"""The folders of the host that the default root file system has."""


class _Server:
    """The connection to a server; it is started when there is a first machine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

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
        if self._owner != os.getpid():  # in a fork, the server belongs to the parent
            self._drop()
        if self._channel is None:
            self._owner = os.getpid()
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
            entries = memory_file(marshal.dumps(skeleton()))
            send(mine, None, [entries])
            os.close(entries)
            answer, _ = receive(mine)
            if answer is None or "error" in answer:
                mine.close()
                self._process.wait()
                raise MachineError(
                    f"No machine can be started here: {(answer or {}).get('error')}."
                )
            self._channel = mine
        return self._channel

    def _drop(self) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            channel.close()
        if process is not None and self._owner == os.getpid():
            process.wait()

    def close(self) -> None:
        """End the server and its machines; may be called twice."""
        with self._lock:
            self._drop()


class LocalProvider:
    """Machines in namespaces of the kernel: root of their own users, without a network.

    What a machine writes is kept in memory; it counts towards ``disk``.
    """

    isolated = True

    def __init__(self) -> None:
        self._server = _Server()
        self._close = weakref.finalize(self, self._server.close)

    def prepare(self, spec: MachineSpec) -> None:
        """Check that a machine of a spec can be started; see ``MachineProvider``."""
        _layers(spec)

    def start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> "LocalMachine":
        """Start a machine; see ``MachineProvider``."""
        if not self._close.alive:
            raise MachineError("This provider is closed.")
        machine = LocalMachine(self, spec)
        machine.begin(snapshot)
        return machine

    def connect(self, spec: MachineSpec, data: bytes | None) -> socket.socket:
        """Start a machine's processes; return its control socket."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        descriptors = [theirs.fileno()]
        with theirs, contextlib.ExitStack() as stack:
            if data is not None:
                descriptors.append(memory_file(data))
                stack.callback(os.close, descriptors[-1])
            try:
                self._server.start(_plan(spec), descriptors)
            except BaseException:
                mine.close()
                raise
        mine.settimeout(_START)
        try:
            _value(receive(mine)[0])
        except BaseException:
            mine.close()
            raise
        return mine

    def has(self, spec: MachineSpec, path: str) -> bool:
        """Return whether the image of a spec has a path."""
        if spec.image:
            return os.path.lexists(Path(spec.image).expanduser() / path.lstrip("/"))
        return path in _skeleton_paths() or (
            path.startswith("/usr/") and os.path.lexists(path)
        )

    def close(self) -> None:
        """End all machines; may be called twice."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@functools.cache
def _skeleton_paths() -> frozenset[str]:
    return frozenset(path for path, _, _ in skeleton())


def _plan(spec: MachineSpec) -> dict[str, Any]:
    return {
        "layers": _layers(spec),
        "folders": [spec.workdir],
        "network": spec.network,
        "hostname": "machine",
        "memory": spec.memory,
        "disk": spec.disk,
        "processes": spec.processes,
        "filter": machine_filter(),
    }


def _layers(spec: MachineSpec) -> dict[str, str]:
    """Return the mount points of a machine, with the folders below them; empty for the skeleton."""
    if spec.build:
        raise ConfigError("The provider 'local' does not build images yet; give a folder as image.")
    if not spec.image:
        return {"": "", **{path: path for path in _SYSTEM}}
    folder = Path(spec.image).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        raise ConfigError(
            f"The provider 'local' takes the absolute path of a folder as image, which holds a "
            f"root file system; got {spec.image!r}."
        )
    return {"": str(folder)}


def _value(answer: dict[str, Any] | None) -> Any:
    if answer is None:
        raise MachineError("The machine has ended.")
    if not answer.get("is_archive", True):
        raise SnapshotError(f"This is not a snapshot of a machine: {answer['error']}.")
    if "error" in answer:
        raise MachineError(f"The machine refused: {answer['error']}.")
    return answer["value"]


def _check_packed(what: str, report: bytes) -> None:
    if len(report) != STATUS.size or STATUS.unpack(report)[0]:
        reason = report[: -STATUS.size].decode("utf-8", "replace")
        raise MachineError(f"{what}: {reason or 'it has ended'}.")


class LocalMachine(BaseMachine):
    """A machine of ``LocalProvider``."""

    provider = "local"

    def __init__(self, provider: LocalProvider, spec: MachineSpec) -> None:
        super().__init__(spec)
        self._provider = provider
        self._control: socket.socket | None = None

    def begin_files(self, data: bytes | None) -> None:
        self._control = self._provider.connect(self.spec, data)

    def replace_files(self, data: bytes) -> None:
        control = self._provider.connect(self.spec, data)
        self.end()
        self._control = control

    def copy(self, snapshot: MachineSnapshot) -> "LocalMachine":
        return self._provider.start(self.spec, snapshot)

    def _ask(
        self, request: dict[str, Any], descriptors: Sequence[int] = ()
    ) -> tuple[Any, list[int]]:
        with self._lock:
            control = self._open_control()
            try:
                send(control, request, descriptors)
                answer, received = receive(control)
            except OSError as error:
                raise MachineError(f"The machine does not answer: {error}.") from error
            return _value(answer), received

    def _open_control(self) -> socket.socket:
        if self._control is None:
            raise MachineError("This machine is closed.")
        return self._control

    def check_open(self) -> None:
        self._open_control()

    def spawn(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        *,
        env: Mapping[str, str],
        user: str,
        cwd: str,
    ) -> Job:
        status, theirs = os.pipe()
        try:
            request = {
                "do": "spawn",
                "argv": list(argv),
                "env": dict(env),
                "user": user,
                "cwd": cwd,
            }
            pid, _ = self._ask(request, [*descriptors, theirs])
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(theirs)
        return Job(pid, status)

    def signal(self, pid: int, number: int, *, since: float | None = None) -> None:
        if since:
            since += time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        self._ask({"do": "signal", "pid": pid, "number": number, "since": since})

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        request = {"do": "open", "path": path, "flags": flags, "mode": mode}
        try:
            _, received = self._ask(request)
        except MachineError as error:
            raise MachineError(f"{path!r}: {error}") from None
        return received[0]

    def find(self, name: str) -> tuple[str, bool]:
        _, layer, *rest = [*name.split("/", 2), ""][:3] if "/" in name else ("", "")
        target = list(_layers(self.spec))[int(layer)] if layer else ""
        path = f"{target}/{rest[0]}" if rest and rest[0] else ""
        return path, bool(path) and self._provider.has(self.spec, path)

    def pack(self, path: str | None, limit: int) -> int:
        archive = memory_file(b"")
        status, theirs = os.pipe()
        try:
            try:
                self._ask({"do": "pack", "path": path, "limit": limit}, [archive, theirs])
            finally:
                os.close(theirs)
                with os.fdopen(status, "rb") as file:
                    report = file.read()
            _check_packed(path or "The machine", report)
        except BaseException:
            os.close(archive)
            raise
        os.lseek(archive, 0, os.SEEK_SET)
        return archive

    def running(self) -> list[tuple[int, str]]:
        found, _ = self._ask({"do": "processes"})
        return list(found)

    def end_processes(self) -> None:
        self._ask({"do": "kill_all"})

    def end(self) -> None:
        control, self._control = self._control, None
        if control is not None:
            control.close()
