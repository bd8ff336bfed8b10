"""What all machines share: commands that are run to their end, files, and the shell.

A kind of machine says how a process is started in it, and how a file is opened; the rest is here.
Descriptors of processes and files are passed around, so nothing is copied on the way.
"""

import contextlib
import io
import os
import select
import signal
import tarfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from gem_core.errors import ConfigError, GemError, MachineError, SnapshotError
from gem_core.lifetimes import Lifetime, Lock
from gem_sandbox.machines.local.messages import STATUS
from gem_sandbox.machines.output import HeadAndTail
from gem_sandbox.machines.pipes import Pipes, bytes_waiting, encoded
from gem_sandbox.machines.shell import BashShell
from gem_sandbox.machines.unpacking import unpack
from gem_workers.machine import FileChange, MachineSnapshot, MachineSpec, check_path
from gem_workers.sandbox import Execution, Limit

__all__ = ["BaseMachine", "Job", "snapshot_of_files"]

_CHUNK = 1 << 16
_LONGEST_COMMAND = 100_000
_SIZE = 8
_NAME = "gem-machine-of-this-snapshot"
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PAGER": "cat",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "TERM": "dumb",
}


class Job(NamedTuple):
    """A process that was started in a machine, the first of its session.

    Args:
        pid: Its process id, as the machine counts.
        status: The descriptor from which ``STATUS`` can be read when it has ended.
    """

    pid: int
    status: int


class BaseMachine(ABC):
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
        self.spec = spec
        self.image_env: Mapping[str, str] = {}
        """Environment variables of the image."""
        self._lock = Lock()
        self._shell = BashShell(self)
        self.lifetime = Lifetime(self, release, what="machine", error=MachineError)

    @abstractmethod
    def spawn(
        self,
        argv: Sequence[str],
        descriptors: Sequence[int],
        *,
        env: Mapping[str, str],
        user: str,
        cwd: str,
    ) -> Job:
        """Start a process in a session of its own.

        Args:
            argv: The program and its arguments.
            descriptors: Its descriptors 0, 1, 2 and so on.
            env: Its whole environment.
            user: Its user, by name or number.
            cwd: Its directory.

        Raises:
            MachineError: It cannot be started, or the machine has ended.
        """

    @abstractmethod
    def signal(self, pid: int, number: int, *, since: float | None = None) -> None:
        """Send a signal to the process group of a job, or to its descendants.

        Args:
            pid: The job's process id.
            number: The signal.
            since: For the descendants that were started after this time (``time.monotonic``).
        """

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

    def check_open(self) -> None:
        """Check that the machine can be used.

        Raises:
            ForkError: This is a fork of the process that made it.
            MachineError: It is closed, or is known to have ended.
        """
        self.lifetime.check()

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Check that the machine is open, before the block and after it.

        Raises:
            ForkError: This is a fork of the process that made it.
            MachineError: It is closed; whatever fails in the block then is its ``__context__``.
        """
        self.lifetime.check()
        try:
            yield
        except (GemError, OSError):
            self.lifetime.check()
            raise
        self.lifetime.check()

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

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command."""
        return {**_ENVIRONMENT, **self.image_env, **self.spec.env, **(env or {})}

    def run(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes = "",
        output_limit: int = 1 << 20,
    ) -> Execution:
        """Run a command in a shell of its own until it ends; see ``Machine``."""
        command = os.fsdecode(encoded(command))
        if len(os.fsencode(command)) > _LONGEST_COMMAND or "\0" in command:
            raise ConfigError(
                f"A command has at most {_LONGEST_COMMAND} bytes, and no zero byte; write a longer "
                f"one to a file, and run that."
            )
        start = time.monotonic()
        outputs = [HeadAndTail(output_limit), HeadAndTail(output_limit)]
        data = encoded(stdin) if isinstance(stdin, str) else stdin
        with self.in_use(), Pipes(inputs=1, outputs=2) as pipes:
            job = self.spawn(
                ["/bin/bash", "-c", command],
                pipes.theirs,
                env=self.environment(env),
                user=user or self.spec.user,
                cwd=cwd or self.spec.workdir,
            )
            pipes.started()
            pipes.hold(job.status)
            try:
                is_late = self._collect(job, pipes, data, outputs, start + timeout)
            except BaseException:  # such as Ctrl-C: nobody waits for the command any more
                with contextlib.suppress(GemError):
                    self._kill(job)
                raise
            status, peak, is_out_of_memory = _status(job)
        limit: Limit | None = "memory" if is_out_of_memory else "wall_time" if is_late else None
        return Execution(
            exit_status=status,
            stdout=outputs[0].text(),
            stderr=outputs[1].text(),
            duration=time.monotonic() - start,
            peak_memory=peak,
            limit=limit,
        )

    def _collect(
        self,
        job: Job,
        pipes: Pipes,
        data: bytes,
        outputs: list[HeadAndTail],
        deadline: float,
    ) -> bool:
        """Feed and read a job until it has ended; return whether it was killed at its deadline."""
        writer, *readers = pipes.ours
        places = dict(zip(readers, outputs, strict=True))
        poll = select.poll()
        for descriptor in (*readers, job.status):
            poll.register(descriptor, select.POLLIN)
        poll.register(writer, select.POLLOUT)
        rest = memoryview(data)
        is_late = False
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                is_late, deadline = True, time.monotonic() + 5.0
                self._kill(job)
            for descriptor, _ in poll.poll(max(0, left) * 1000):
                if descriptor == writer:
                    rest = _feed(writer, rest)
                    if not rest:
                        poll.unregister(writer)
                        pipes.close(writer)
                elif descriptor == job.status:
                    for reader, output in places.items():
                        _drain(reader, output)
                    return is_late
                elif data := os.read(descriptor, _CHUNK):
                    places[descriptor].add(data)
                else:
                    poll.unregister(descriptor)

    def _kill(self, job: Job) -> None:
        self.signal(job.pid, signal.SIGSTOP)  # a stopped process starts no other
        self.signal(job.pid, signal.SIGKILL, since=0.0)
        self.signal(job.pid, signal.SIGKILL)

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


def _feed(writer: int, rest: memoryview) -> memoryview:
    """Write what fits; return the rest, which is empty if nobody reads."""
    try:
        return rest[os.write(writer, rest[:_CHUNK]) :] if rest else rest
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


def _drain(descriptor: int, output: HeadAndTail) -> None:
    """Read what is there now, and not what jobs in the background write meanwhile."""
    left = bytes_waiting(descriptor)
    while left > 0 and (data := os.read(descriptor, min(left, _CHUNK))):
        output.add(data)
        left -= len(data)


def _status(job: Job) -> tuple[int, int, bool]:
    """Return the exit status of a job that has ended, as a shell says it, and the rest."""
    data = os.read(job.status, STATUS.size)
    if len(data) < STATUS.size:
        raise MachineError("The machine has ended while a command was running.")
    status, peak, is_out_of_memory = STATUS.unpack(data)
    code = os.waitstatus_to_exitcode(status)
    return (128 - code if code < 0 else code), peak, is_out_of_memory
