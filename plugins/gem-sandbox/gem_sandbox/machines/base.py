"""What all machines share: commands that are run to their end, files, and the shell.

A kind of machine says how a process is started in it, and how a file is opened; the rest is here.
Descriptors of processes and files are passed around, so nothing is copied on the way.
"""

import contextlib
import os
import select
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gem_core.errors import ConfigError, MachineError
from gem_core.machine import MachineSpec, check_path
from gem_core.sandbox import Execution, Limit
from gem_sandbox.machines.archive import unpack
from gem_sandbox.machines.local.messages import STATUS
from gem_sandbox.machines.output import HeadAndTail
from gem_sandbox.machines.pipes import Pipes
from gem_sandbox.machines.shell import BashShell

__all__ = ["BaseMachine", "Job"]

_CHUNK = 1 << 16
_LONGEST_COMMAND = 100_000
_ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PAGER": "cat",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
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
    """

    def __init__(self, spec: MachineSpec) -> None:
        self.spec = spec
        self._lock = threading.RLock()
        self._shell = BashShell(self)

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
    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        """Return a descriptor of a regular file of the machine.

        Raises:
            MachineError: It cannot be opened.
        """

    @abstractmethod
    def pack(self, path: str, limit: int) -> int:
        """Return a descriptor of an archive of a file or folder of the machine.

        Raises:
            MachineError: It does not exist, or has more bytes than the limit.
        """

    @abstractmethod
    def check_open(self) -> None:
        """Raise ``MachineError`` if the machine has ended."""

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command."""
        return {**_ENVIRONMENT, **self.spec.env, **(env or {})}

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
        if len(command) > _LONGEST_COMMAND or "\0" in command:
            raise ConfigError(
                f"A command has at most {_LONGEST_COMMAND} characters, and no zero byte; write a "
                f"longer one to a file, and run that."
            )
        start = time.monotonic()
        outputs = [HeadAndTail(output_limit), HeadAndTail(output_limit)]
        data = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin
        with Pipes(inputs=1, outputs=2) as pipes:
            job = self.spawn(
                ["/bin/bash", "-c", command],
                pipes.theirs,
                env=self.environment(env),
                user=user or self.spec.user,
                cwd=cwd or self.spec.workdir,
            )
            pipes.started()
            is_late = self._collect(job, pipes, data, outputs, start + timeout)
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
                self.signal(job.pid, 9, since=0.0)
                self.signal(job.pid, 9)
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
                elif not _drain(descriptor, places[descriptor], once=True):
                    poll.unregister(descriptor)

    def shell(self) -> BashShell:
        """Return the machine's shell; see ``Machine``."""
        return self._shell

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write a file, and create its folders; see ``Machine``."""
        check_path(path)
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        descriptor = self.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError as error:
            raise MachineError(f"{path!r} cannot be written: {error.strerror}.") from error

    def read(self, path: str, *, limit: int = 1 << 26) -> bytes:
        """Return the content of a regular file; see ``Machine``."""
        check_path(path)
        with os.fdopen(self.open(path, os.O_RDONLY), "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise MachineError(f"{path!r} has more than {limit} bytes.")
        return data

    def pull(self, path: str, folder: str | Path, *, limit: int = 1 << 28) -> None:
        """Copy a file or a folder of the machine into a folder of the host; see ``Machine``."""
        check_path(path)
        with os.fdopen(self.pack(path, limit), "rb") as file:
            unpack(file, Path(folder))

    def __enter__(self) -> "BaseMachine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """End all processes and drop the files; may be called twice."""


def _feed(writer: int, rest: memoryview) -> memoryview:
    """Write what fits; return the rest, which is empty if nobody reads."""
    try:
        return rest[os.write(writer, rest[:_CHUNK]) :] if rest else rest
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


def _drain(descriptor: int, output: HeadAndTail, *, once: bool = False) -> bool:
    """Read what is there; return False at the end of the stream."""
    while True:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        if not data:
            return False
        output.add(data)
        if once:
            return True


def _status(job: Job) -> tuple[int, int, bool]:
    """Return the exit status of a job that has ended, as a shell says it, and the rest."""
    with os.fdopen(job.status, "rb") as file:
        data = file.read(STATUS.size)
    if len(data) < STATUS.size:
        raise MachineError("The machine has ended while a command was running.")
    status, peak, is_out_of_memory = STATUS.unpack(data)
    code = os.waitstatus_to_exitcode(status)
    return (128 - code if code < 0 else code), peak, is_out_of_memory
