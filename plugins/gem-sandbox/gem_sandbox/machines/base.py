"""What all machines share: jobs (``job_starter``), files, snapshots, and the shell.

A kind of machine says how a process is started in it, and how a file is opened; the rest is here.
"""

import io
import tarfile
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Self

from gem_core.errors import MachineError, SnapshotError
from gem_core.lifetimes import Lock
from gem_sandbox.machines.job_starter import JobStarter
from gem_sandbox.machines.pipes import encoded
from gem_sandbox.machines.shell import BashShell
from gem_sandbox.machines.unpacking import unpack
from gem_workers.machine import FileChange, MachineSnapshot, MachineSpec, check_path

__all__ = ["BaseMachine", "snapshot_of_files"]

_SIZE = 8
_NAME = "gem-machine-of-this-snapshot"


class BaseMachine(JobStarter):
    """The base class of machines.

    Args:
        spec: What the machine was started with.
        release: Ends all processes and drops the files, within some seconds; it must not refer to
            the machine.
    """

    provider: ClassVar[str]
    """The id of the provider."""
    name = ""
    """What the machine's paths contain and those of others do not; empty if there is nothing."""

    def __init__(self, spec: MachineSpec, release: Callable[[], object]) -> None:
        super().__init__(spec, release)
        self._lock = Lock()
        self._shell = BashShell(self)

    @abstractmethod
    def write_file(self, path: str, data: bytes, mode: int) -> None:
        """Write a file, and create its folders.

        Raises:
            MachineError: It cannot be written.
        """

    @abstractmethod
    def read_file(self, path: str, limit: int) -> bytes:
        """Return the content of a regular file; more than the limit if it has more.

        Raises:
            MachineError: It cannot be read.
        """

    @abstractmethod
    def pack(self, path: str, limit: int) -> bytes:
        """Return an archive of a file or folder.

        Raises:
            MachineError: It does not exist, or has more bytes than the limit.
        """

    @abstractmethod
    def save_files(self, keep: Callable[[FileChange], bool] | None) -> bytes:
        """Return the state of the files; see ``Machine.snapshot``."""

    @abstractmethod
    def begin_files(self, data: bytes | None) -> None:
        """Start with the files of an archive, or of the spec's image.

        Raises:
            SnapshotError: This is not an archive.
        """

    @abstractmethod
    def replace_files(self, data: bytes) -> None:
        """End all processes, and go on with the files of an archive.

        Raises:
            SnapshotError: This is not an archive; nothing has changed.
        """

    @abstractmethod
    def copy(self, snapshot: MachineSnapshot) -> Self:
        """Return another machine, in the state of a snapshot."""

    @abstractmethod
    def running(self) -> list[tuple[int, str]]:
        """Return the process id and the command line of each process."""

    @abstractmethod
    def end_processes(self) -> None:
        """End all processes."""

    def begin(self, snapshot: MachineSnapshot | None) -> None:
        """Start, in the state of a snapshot if there is one."""
        try:
            if snapshot is None:
                self.begin_files(None)
                for path, content in self.spec.files.items():
                    self.write(path, content)
                self._check_health()
            else:
                self._check_snapshot(snapshot)
                self.begin_files(_files(snapshot))
                self._shell.resume(self._state(snapshot))
        except BaseException:
            self.close()
            raise

    def _check_health(self) -> None:
        if not self.spec.healthcheck:
            return
        result = self.run(self.spec.healthcheck, timeout=self.spec.health_timeout)
        if not result.ok:
            said = (result.stderr or result.stdout)[-500:]
            raise MachineError(
                f"The health check {self.spec.healthcheck!r} has failed, with exit status "
                f"{result.exit_status}: {said}"
            )

    def _check_snapshot(self, snapshot: MachineSnapshot) -> None:
        if snapshot.provider != self.provider:
            raise SnapshotError(
                f"This is a snapshot of a machine of {snapshot.provider!r}, not of "
                f"{self.provider!r}."
            )
        if len(snapshot.data) < _SIZE or len(snapshot.data) < _files_at(snapshot):
            raise SnapshotError("This is not a snapshot of a machine: it is too short.")

    def _state(self, snapshot: MachineSnapshot) -> str:
        """Return the script that gives the shell its state."""
        state = snapshot.data[_SIZE : _files_at(snapshot)].decode("utf-8", "surrogateescape")
        return state.replace(_NAME, self.name)

    def shell(self) -> BashShell:
        """Return the machine's shell; see ``Machine``."""
        return self._shell

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write a file, and create its folders; see ``Machine``."""
        check_path(path)
        data = encoded(content) if isinstance(content, str) else content
        with self.in_use():
            self.write_file(path, data, mode)

    def read(self, path: str, *, limit: int = 1 << 26) -> bytes:
        """Return the content of a regular file; see ``Machine``."""
        check_path(path)
        with self.in_use():
            data = self.read_file(path, limit)
        if len(data) > limit:
            raise MachineError(f"{path!r} has more than {limit} bytes.")
        return data

    def pull(self, path: str, folder: str | Path, *, limit: int = 1 << 28) -> None:
        """Copy a file or a folder of the machine into a folder of the host; see ``Machine``."""
        check_path(path)
        with self.in_use():
            packed = io.BytesIO(self.pack(path, limit))
        try:
            unpack(packed, str(folder))
        except (OSError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or error
            raise MachineError(f"{path!r} cannot be copied to {folder}: {reason}.") from error

    def snapshot(self, *, keep: Callable[[FileChange], bool] | None = None) -> MachineSnapshot:
        """Return the state: the files that were written, and the state of the shell."""
        with self.in_use(), self._lock:
            lost = tuple(self.processes())
            script = self._shell.state() if keep is None else ""
            if self.name:
                script = script.replace(self.name, _NAME)
            state = script.encode("utf-8", "surrogateescape")
            data = self.save_files(keep)
        return snapshot_of_files(self.provider, data, state=state, lost=lost)

    def restore(self, snapshot: MachineSnapshot) -> None:
        """End all processes and return to the state of a snapshot; see ``Machine``."""
        with self.in_use(), self._lock:
            self._check_snapshot(snapshot)
            self.replace_files(_files(snapshot))
            self._shell.drop()
            self._shell.resume(self._state(snapshot))

    def fork(self) -> Self:
        """Return another machine in the same state; see ``Machine``."""
        return self.copy(self.snapshot())

    def processes(self) -> list[str]:
        """Return the command lines of the processes that run; see ``Machine``."""
        with self.in_use():
            shell = self._shell.pid
            return [line for pid, line in self.running() if pid != shell]

    def kill_all(self) -> None:
        """End all processes, also the shell's."""
        with self.in_use():
            self.end_processes()
            self._shell.drop()

    def close(self) -> None:
        """End all processes and drop the files; may be called twice.

        A call of another thread ends with ``MachineError``. In a fork, nothing happens.
        """
        self.lifetime.end()
        self._shell.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def snapshot_of_files(
    provider: str, data: bytes, *, state: bytes = b"", lost: tuple[str, ...] = ()
) -> MachineSnapshot:
    """Return a snapshot with an archive of files, and the script that gives the shell its state."""
    size = len(state).to_bytes(_SIZE, "little")
    return MachineSnapshot(provider, size + state + data, lost)


def _files_at(snapshot: MachineSnapshot) -> int:
    """Return where the archive of the files begins; before it is the state of the shell."""
    return _SIZE + int.from_bytes(snapshot.data[:_SIZE], "little")


def _files(snapshot: MachineSnapshot) -> bytes:
    return snapshot.data[_files_at(snapshot) :]
