"""The provider ``local``: machines that start in milliseconds and are forked in mid-episode."""

import contextlib
import functools
import os
import socket
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from gem_core.errors import ConfigError, MachineError, SnapshotError
from gem_core.machine import MachineSnapshot, MachineSpec
from gem_sandbox.machines.base import BaseMachine, Job
from gem_sandbox.machines.local.messages import STATUS, receive, send
from gem_sandbox.machines.local.server_process import ServerProcess
from gem_sandbox.machines.local.skeleton import skeleton
from gem_sandbox.machines.memory_file import memory_file
from gem_sandbox.shared_pools import shared_pools
from gem_sandbox.warm.seccomp import machine_filter

__all__ = ["LocalMachine", "LocalProvider"]

_START = 30.0
_KEY = "machines"
_SYSTEM = ("/usr",)
"""The folders of the host that the default root file system has."""


class LocalProvider:
    """Machines in namespaces of the kernel: root of their own users, without a network.

    What a machine writes is kept in memory; it counts towards ``disk``.
    """

    isolated = True

    def __init__(self) -> None:
        self._server = shared_pools.lease(_KEY, ServerProcess)
        self._close = weakref.finalize(self, shared_pools.release, _KEY)
        self._machines: weakref.WeakSet[LocalMachine] = weakref.WeakSet()

    def prepare(self, spec: MachineSpec) -> None:
        """Check that a machine of a spec can be started; see ``MachineProvider``."""
        _layers(spec)

    def start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> "LocalMachine":
        """Start a machine; see ``MachineProvider``."""
        if not self._close.alive:
            raise MachineError("This provider is closed.")
        machine = LocalMachine(self, spec)
        self._machines.add(machine)
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
        return path in _skeleton_paths() or (path.startswith("/usr/") and os.path.lexists(path))

    def close(self) -> None:
        """End all machines; may be called twice."""
        self._close()
        for machine in list(self._machines):
            machine.close()

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
