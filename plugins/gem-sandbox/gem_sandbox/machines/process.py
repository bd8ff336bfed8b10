"""The provider ``process``: a temporary folder and plain processes, for trusted programs only."""

import contextlib
import fcntl
import io
import os
import signal
import socket
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from gem_core.errors import ConfigError, MachineError, SnapshotError
from gem_core.lifetimes import Lifetime
from gem_sandbox.guest.process_tree import descendants
from gem_sandbox.holder import Holder
from gem_sandbox.machines.archive import layers, pack, pack_all
from gem_sandbox.machines.host_machine import HostMachine
from gem_sandbox.machines.job_starter import Job
from gem_sandbox.machines.local.messages import STATUS
from gem_sandbox.machines.selection import Record, Selection
from gem_sandbox.machines.signals import send_signal
from gem_sandbox.machines.trees import make_folders, remove
from gem_sandbox.machines.unpacking import unpack_layers
from gem_workers.machine import MachineSnapshot, MachineSpec

__all__ = ["ProcessMachine", "ProcessProvider"]

_HIGH = 100
_TICK = 0.02
"""Seconds by which the kernel rounds when a process was started."""
_KILL_SECONDS = 5.0
_ENTER = 'cd "$0" && exec "$@"'


class ProcessProvider:
    """Machines that are folders of the host, without isolation or limits.

    The machine's paths given to ``read``, ``write``, ``pull``, ``cwd`` and ``workdir`` are below a
    temporary folder, where commands start. Absolute paths *in commands* are those of the host.
    """

    isolated = False

    def __init__(self) -> None:
        warnings.warn(
            "Machines of 'process' run commands without isolation: they can read, write and reach "
            "what you can. Use 'local' or 'docker' for untrusted programs.",
            RuntimeWarning,
            stacklevel=2,
        )
        self._machines: weakref.WeakSet[ProcessMachine] = weakref.WeakSet()
        self._lifetime = Lifetime(self, bool, what="provider", error=MachineError)

    def prepare(self, spec: MachineSpec) -> None:
        """Check that a machine of a spec can be started; see ``MachineProvider``."""
        if spec.image or spec.build or spec.user not in {"", "root"}:
            raise ConfigError("Machines of 'process' have no images and no other users.")

    def start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> "ProcessMachine":
        """Start a machine; see ``MachineProvider``."""
        self._lifetime.check()
        self.prepare(spec)
        machine = ProcessMachine(self, spec.settled(workdir="/root", user="root"))
        self._machines.add(machine)
        machine.begin(snapshot)
        return machine

    def close(self) -> None:
        """End all machines; may be called twice. In a fork, nothing happens."""
        self._lifetime.end()
        for machine in list(self._machines):
            machine.close()


class ProcessMachine(HostMachine):
    """A machine of ``ProcessProvider``."""

    provider = "process"

    def __init__(self, provider: ProcessProvider, spec: MachineSpec) -> None:
        self._held = Holder(_end, what="machine", error=MachineError)
        super().__init__(spec, self._held.end)
        self._provider = provider
        self._take(_new_folder())

    def begin_files(self, data: bytes | None) -> None:
        folder = self._folder
        try:
            if data is not None:
                _unpack(data, folder)
            (folder / self.spec.workdir.lstrip("/")).mkdir(parents=True, exist_ok=True)
        finally:
            if not self.lifetime.is_open:  # closed meanwhile
                _remove(folder)

    def replace_files(self, data: bytes) -> None:
        fresh = _new_folder()
        try:
            _unpack(data, fresh)
        except BaseException:
            _remove(fresh)
            raise
        self._take(fresh)

    def _take(self, folder: Path) -> None:
        self._held.put(folder)
        self.name = folder.name

    @property
    def _folder(self) -> Path:
        self.check_open()
        if (folder := self._held.value) is None:
            raise MachineError("This machine is closed.")
        return folder

    @contextlib.contextmanager
    def _open_folder(self) -> Iterator[Path]:
        """Return the folder, which nobody takes away meanwhile."""
        with self._held.lock:
            yield self._folder

    def _inside(self, path: str) -> Path:
        return self._folder / path.lstrip("/")

    def spawn(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        *,
        env: Mapping[str, str],
        user: str,
        cwd: str,
    ) -> Job:
        if user not in {"root", "0"}:
            raise MachineError(f"Machines of 'process' have no user {user!r}.")
        if not self._inside(cwd).is_dir():
            raise MachineError(f"{cwd!r} is not a folder.")
        home = self._inside(self.spec.workdir)
        moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _HIGH) for one in descriptors]
        try:
            with self._open_folder() as folder:
                pid = os.posix_spawn(
                    "/bin/sh",
                    ["/bin/sh", "-c", _ENTER, str(self._inside(cwd)), *argv],
                    {
                        "HOME": str(home),
                        **env,
                        "PATH": os.environ.get("PATH", env["PATH"]),
                        "GEM_MACHINE": folder.name,
                    },
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, one, number) for number, one in enumerate(moved)
                    ],
                    setsid=True,
                )
        finally:
            for one in moved:
                os.close(one)
        status, theirs = os.pipe()
        threading.Thread(target=_await, args=(pid, theirs), daemon=True).start()
        return Job(pid, status)

    def signal(self, pid: int, number: int, *, since: float | None = None) -> None:
        if since is None:
            members = [one for one in (pid, *descendants(pid)) if _group(one) == pid]
            send_signal(number, members, group=pid)
        else:
            younger = [one for one in descendants(pid) if _start(one) >= since - _TICK]
            send_signal(number, younger)

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        place = self._inside(path)
        try:
            with self._open_folder():
                if flags & os.O_CREAT:
                    make_folders(str(place.parent))
                elif not place.is_file():
                    raise MachineError(f"{path!r} is not a regular file, or does not exist.")
                descriptor = os.open(place, flags | os.O_CLOEXEC, mode)
            if flags & os.O_CREAT:
                os.fchmod(descriptor, mode)
        except OSError as error:
            raise MachineError(f"{path!r}: {error.strerror}.") from error
        return descriptor

    def listen(self, port: int = 0) -> socket.socket:
        """Return a listening socket of the host's loopback; see ``docs/machines.md``."""
        self.check_open()
        return socket.create_server(("127.0.0.1", port))

    def find(self, name: str) -> tuple[str, bool]:
        return "" if name == "." else name.removeprefix("."), False

    def pack(self, path: str, limit: int) -> bytes:
        place = str(self._inside(path))
        with _told(path):
            os.lstat(place)
            return _written(lambda file: pack(place, file, limit))

    def pack_changes(
        self, limit: int, choose: Callable[[Iterable[Record]], bytes] | None = None
    ) -> bytes:
        with _told("The machine"), contextlib.ExitStack() as stack:
            top = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, top)
            found = layers(top)
            if choose is None:
                return _written(lambda file: pack_all(top, found, file, limit))
            selection = Selection(top, found)
            chosen = choose(selection.records())
            return _written(lambda file: selection.pack(chosen, file, limit))

    def copy(self, snapshot: MachineSnapshot) -> "ProcessMachine":
        return self._provider.start(self.spec, snapshot)

    def running(self) -> list[tuple[int, str]]:
        found = []
        for pid in _tree(self._folder):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
                if line:
                    found.append((pid, line.decode("utf-8", "replace")))
        return found

    def end_processes(self) -> None:
        _end_processes(self._folder)


def _new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="gem-machine-"))


def _end(folder: Path) -> None:
    """End the processes of a machine, and remove its folder."""
    _end_processes(folder)
    _remove(folder)


def _tree(folder: Path) -> list[int]:
    """Return the processes with the machine's mark in their environment, also daemons."""
    found, mark = [], f"GEM_MACHINE={folder.name}".encode()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if mark in Path(f"/proc/{name}/environ").read_bytes():
                found.append(int(name))
    return found


def _end_processes(folder: Path) -> None:
    """Kill the processes of a machine; what cannot be killed within some seconds is left."""
    deadline = time.monotonic() + _KILL_SECONDS
    while found := [pid for pid in _tree(folder) if not _is_ended(pid)]:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # a stopped process does not fork
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if time.monotonic() > deadline:
            return


def _await(pid: int, report: int) -> None:
    """Wait for the end of a job, and report it."""
    _, status, usage = os.wait4(pid, 0)
    with contextlib.suppress(OSError):
        os.write(report, STATUS.pack(status, usage.ru_maxrss << 10, False))
    os.close(report)


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn errors of files into those of machines."""
    try:
        yield
    except OSError as error:
        raise MachineError(f"{what}: {error.strerror or error}.") from error


def _written(write: Callable[[IO[bytes]], None]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _remove(folder: Path) -> None:
    """Remove a folder, as far as that is possible."""
    with contextlib.suppress(OSError):
        above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove(above, folder.name)
        finally:
            os.close(above)


def _is_ended(pid: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return stat.rpartition(")")[2].split()[0] in "ZX"
    return True


def _group(pid: int) -> int:
    """Return the process group of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        return os.getpgid(pid)
    return 0


def _start(pid: int) -> float:
    """Return when a process was started, on the clock of ``time.monotonic``."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return since_boot - (time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic())


def _unpack(data: bytes, folder: Path) -> None:
    try:
        unpack_layers(io.BytesIO(data), str(folder))
    except Exception as error:
        raise SnapshotError(f"This is not a snapshot of a machine: {error}.") from error
