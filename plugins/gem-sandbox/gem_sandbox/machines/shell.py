"""One ``bash`` of a machine, whose directory, variables and jobs stay from command to command.

Bash reads its script from a pipe. A command is sent as ``eval '...'``, followed by a line that
reports the exit status and the directory on a descriptor that the command itself does not have. So
the end of a command is known when it happens, whatever the command prints.
"""

import contextlib
import os
import re
import select
import shlex
import threading
import time
from typing import TYPE_CHECKING

from gem_core.errors import ConfigError, MachineError
from gem_core.machine import ShellResult
from gem_sandbox.machines.output import HeadAndTail
from gem_sandbox.machines.pipes import Pipes

if TYPE_CHECKING:
    from gem_sandbox.machines.base import BaseMachine, Job

__all__ = ["BashShell"]

_SCRIPT = 3
_BEGIN = "trap : INT\n__status() { return $1; }\n"
_COMMAND = (
    "__status {status}; eval {command} 4>&-\n\n"
    '{{ __code=$?; printf \'{mark}%s\\0%s\\0\' "$__code" "$PWD" >&4; }} 2>/dev/null\n'
)
"""The empty line is needed: after a syntax error, the next line would be part of the command."""
_STATE = "declare -p; declare -f; alias -p; shopt -p; set +o"
_NOT_OURS = re.compile(
    r"declare -[a-zA-Z-]*r|declare \S+ (?:__code|_|BASH\w*|EPOCH\w*|PPID|SECONDS)="
)
_CHUNK = 1 << 16
_INTERRUPT, _KILL = 2, 9
_LONGEST_STATE, _PATIENCE = 1 << 24, 30.0


class BashShell:
    """A shell; see ``gem_core.machine.Shell``.

    Args:
        machine: The machine, in which the shell is started when there is a first command.
    """

    def __init__(self, machine: "BaseMachine") -> None:
        self._machine = machine
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._next_state = ""
        self._status = 0
        self._directory = machine.spec.workdir

    def send(self, text: str, *, timeout: float = 60.0, output_limit: int = 1 << 16) -> ShellResult:
        """Run a command, or write to the input of the running one; see ``Shell``."""
        if "\0" in text:
            raise ConfigError("A command has no zero byte.")
        with self._lock:
            self._machine.check_open()
            self._take_state()
            process = self._process
            if process is not None and process.is_busy:
                process.feed(text, timeout)
            elif text:
                process = self._process = process or _Process(self._machine, self._directory)
                process.begin(text, self._status)
            else:
                output = process.output(output_limit) if process else ""
                return ShellResult(output, self._status, self._directory)
            return self._wait(process, timeout, output_limit)

    def interrupt(self, *, timeout: float = 5.0) -> ShellResult:
        """Interrupt the running command, and kill it if it goes on; see ``Shell``."""
        with self._lock:
            self._machine.check_open()
            self._take_state()
            process = self._process
            if process is None or not process.is_busy:
                return ShellResult("", self._status, self._directory)
            self._machine.signal(process.job.pid, _INTERRUPT)
            result = self._wait(process, timeout, 1 << 16)
            if not result.running:
                return result
            self._machine.signal(process.job.pid, _KILL, since=process.started)
            after = self._wait(process, timeout, 1 << 16)
            if after.running:  # the shell itself is stuck
                self.drop()
                after = ShellResult("", 128 + _KILL, self._directory)
            return ShellResult(result.text + after.text, after.exit_status, after.directory)

    def _wait(self, process: "_Process", timeout: float, output_limit: int) -> ShellResult:
        kept = HeadAndTail(output_limit)
        report = process.wait(kept, timeout)
        if report is None:
            return ShellResult(kept.text(), None, self._directory, kept.left_out)
        self._status, self._directory = report
        if process.has_ended:
            self.drop()
        return ShellResult(kept.text(), *report, kept.left_out)

    @property
    def pid(self) -> int:
        """The process id of the shell; 0 if it is not running."""
        return self._process.job.pid if self._process else 0

    def state(self) -> str:
        """Return a script that brings another shell into this state; empty for a new shell."""
        with self._lock:
            process = self._process
            if process is None:
                return self._next_state
            lines = []
            if not process.is_busy:
                kept = HeadAndTail(_LONGEST_STATE)
                process.begin(_STATE, self._status)
                process.wait(kept, _PATIENCE)
                lines = [line for line in kept.text().split("\n") if not _NOT_OURS.match(line)]
            return "\n".join([*lines, f"cd {shlex.quote(self._directory)}", ""])

    def resume(self, state: str) -> None:
        """Start, at the next command, in a state that ``state`` returned."""
        self._next_state = state

    def _take_state(self) -> None:
        state, self._next_state = self._next_state, ""
        if state:
            process = self._process = _Process(self._machine, self._directory)
            process.begin(f"eval {shlex.quote(state)} >/dev/null 2>&1", self._status)
            self._wait(process, _PATIENCE, 1 << 16)
            self._status = 0

    def drop(self) -> None:
        """End the shell; the next command starts another one in the working directory."""
        process, self._process = self._process, None
        self._directory, self._next_state = self._machine.spec.workdir, ""
        if process is not None:
            with contextlib.suppress(MachineError):
                self._machine.signal(process.job.pid, _KILL)
            process.close()


class _Process:
    """The process of a shell."""

    def __init__(self, machine: "BaseMachine", directory: str) -> None:
        self._pipes = Pipes(inputs=2, outputs=2)
        self._input, self._script, self._output, self._report = self._pipes.ours
        stdin, script, output, report = self._pipes.theirs
        try:
            self.job: Job = machine.spawn(
                ["/bin/bash", "--noprofile", "--norc", f"/dev/fd/{_SCRIPT}"],
                [stdin, output, output, script, report],
                env=machine.environment(),
                user=machine.spec.user,
                cwd=directory,
            )
        except BaseException:
            self._pipes.close_all()
            raise
        self._pipes.started()
        self._home = machine.spec.workdir
        self._mark = machine.report_mark
        self._reported = b""
        self.is_busy = False
        self.has_ended = False
        self.started = 0.0
        self._is_closed = False
        _write(self._script, _BEGIN.encode(), 5.0)

    def begin(self, text: str, status: int) -> None:
        command = _COMMAND.format(status=status, command=shlex.quote(text), mark=self._mark)
        self.is_busy, self.started = True, time.monotonic()
        _write(self._script, command.encode("utf-8", "surrogateescape"), 60.0)

    def feed(self, text: str, timeout: float) -> None:
        _write(self._input, text.encode("utf-8", "surrogateescape"), timeout)

    def output(self, limit: int) -> str:
        """Return what background jobs have written meanwhile."""
        kept = HeadAndTail(limit)
        self._read(kept)
        return kept.text()

    def wait(self, kept: HeadAndTail, timeout: float) -> tuple[int, str] | None:
        """Read until the command ends; return its exit status and the directory."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._report, select.POLLIN)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(left * 1000):
                if descriptor == self._report:
                    report = self._read_report()
                    if report is not None:
                        self._read(kept)
                        self.is_busy = False
                        return report
                elif not self._read(kept, once=True):
                    poll.unregister(descriptor)
        return None

    def _read_report(self) -> tuple[int, str] | None:
        try:
            data = os.read(self._report, _CHUNK)
        except BlockingIOError:
            return None
        if not data:
            self.has_ended = True
            return self._last_status(), self._home
        self._reported += data
        status, end, rest = self._reported.partition(b"\0")
        directory, ended, _ = rest.partition(b"\0")
        if not end or not ended:
            return None
        self._reported = b""
        return int(status), directory.decode("utf-8", "surrogateescape")

    def _last_status(self) -> int:
        data = os.read(self.job.status, 4)
        if len(data) < 4:
            return 128 + _KILL
        code = os.waitstatus_to_exitcode(int.from_bytes(data, "little", signed=True))
        return 128 - code if code < 0 else code

    def _read(self, kept: HeadAndTail, *, once: bool = False) -> bool:
        while True:
            try:
                data = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            kept.add(data)
            if once:
                return True

    def close(self) -> None:
        self._pipes.close_all()
        if not self._is_closed:
            self._is_closed = True
            os.close(self.job.status)


def _write(descriptor: int, data: bytes, timeout: float) -> None:
    """Write everything to a descriptor that does not block."""
    deadline = time.monotonic() + timeout
    rest = memoryview(data)
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest[:_CHUNK]) :]
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise MachineError("The command does not read its standard input.") from None
            poll.poll(left * 1000)
        except BrokenPipeError:
            return  # the shell has ended, which its report says
