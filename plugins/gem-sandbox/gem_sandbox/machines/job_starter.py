"""Jobs of machines: processes that a machine starts, and commands that are run to their end.

Descriptors of processes are passed around, so nothing is copied on the way.
"""

import contextlib
import os
import select
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gem_core.errors import ConfigError, GemError, MachineError
from gem_core.lifetimes import Lifetime
from gem_sandbox.machines.local.messages import STATUS
from gem_sandbox.machines.output import HeadAndTail
from gem_sandbox.machines.pipes import Pipes, bytes_waiting, encoded
from gem_workers.machine import MachineSpec
from gem_workers.sandbox import Execution, Limit

__all__ = ["Job", "JobStarter"]

_CHUNK = 1 << 16
_LONGEST_COMMAND = 100_000
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


class JobStarter(ABC):
    """The part of a machine that starts jobs, which is all that its shell needs.

    Args:
        spec: What the machine was started with.
        release: Ends all processes and drops the files, within some seconds; it must not refer to
            the machine.
    """

    def __init__(self, spec: MachineSpec, release: Callable[[], object]) -> None:
        self.spec = spec
        self.image_env: Mapping[str, str] = {}
        """Environment variables of the image."""
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
