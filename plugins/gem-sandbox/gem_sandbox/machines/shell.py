"""One ``bash`` of a machine, whose directory, variables and jobs stay from command to command.

Bash reads its script from a pipe. A command is sent as ``eval '...'``, followed by a line that
reports the exit status and the directory, in the output and so after all that the command wrote. A
report counts only after a mark that was drawn for its command. A command that reads its own script
can forge one: it sees another status of its own, and nothing else comes of it.
"""

import contextlib
import os
import re
import secrets
import select
import shlex
import time

from gem_core.errors import ConfigError, MachineError
from gem_core.lifetimes import Lock
from gem_sandbox.machines.job_starter import Job, JobStarter
from gem_sandbox.machines.output import HeadAndTail
from gem_sandbox.machines.pipes import Pipes, bytes_waiting, encoded
from gem_sandbox.machines.reports import Reports
from gem_workers.machine import ShellResult

__all__ = ["BashShell"]

_SCRIPT = 3
_BEGIN = f"exec {_SCRIPT}<&-\ntrap : INT\n"
_LONGEST_PATH = 4096
_STATUS = "function __status {{ return {status}; }}\n\\__status; "
"""What makes ``$?`` that of the command before; after a report, it is 0."""
_COMMAND = (
    "\\builtin eval {command} 4>&-\n\n"
    '{{ \\builtin printf \'\\001{shell}{mark} %s\\0%s\\0\' "$?" "${{PWD:0:{longest}}}" >&4'
    " || \\builtin exit; }} 2>/dev/null\n"
)
"""The empty line is needed: after a syntax error, the next line would be part of the command. A
shell that cannot report any more ends."""
_REPORT = re.compile(rb"([0-9a-f]{16}) (\d{1,3})\0([^\0]*)\0")
_LONGEST_REPORT = 4 * _LONGEST_PATH + 64
_STATE = "; ".join(
    f"\\builtin {command}"
    for command in ("declare -p", "declare -f", "alias -p", "shopt -p", "set +o")
)
_NOT_OURS = re.compile(r"declare -[a-zA-Z-]*r|declare \S+ (?:_|BASH\w*|EPOCH\w*|PPID|SECONDS)=")
_CHUNK = 1 << 16
_INTERRUPT, _KILL, _NOT_STARTED = 2, 9, 126
_LONGEST_STATE, _PATIENCE = 1 << 24, 30.0


class BashShell:
    """A shell; see ``gem_workers.machine.Shell``.

    Args:
        machine: The machine, in which the shell is started when there is a first command.
    """

    def __init__(self, machine: JobStarter) -> None:
        self._machine = machine
        self._lock = Lock()
        self._process: _Process | None = None
        self._next_state = ""
        self._status = 0
        self._directory = machine.spec.workdir
        self._has_worked = False

    def send(self, text: str, *, timeout: float = 60.0, output_limit: int = 1 << 16) -> ShellResult:
        """Run a command, or write to the input of the running one; see ``Shell``."""
        if "\0" in text:
            raise ConfigError("A command has no zero byte.")
        with self._machine.in_use(), self._lock:
            self._machine.check_open()
            self._take_state()
            process = self._process
            if process is not None and process.is_busy:
                process.feed(text)
            elif text:
                try:
                    process = self._process = process or self._start()
                except MachineError as error:
                    return self._not_started(error)
                process.begin(text, self._status)
            else:
                kept = HeadAndTail(output_limit)
                if process is not None:
                    process.drain(kept)
                return ShellResult(kept.text(), self._status, self._directory, kept.left_out)
            return self._wait(process, timeout, output_limit)

    def interrupt(self, *, timeout: float = 5.0) -> ShellResult:
        """Interrupt the running command, and kill it if it goes on; see ``Shell``."""
        with self._machine.in_use(), self._lock:
            self._machine.check_open()
            self._take_state()
            process = self._process
            if process is None or not process.is_busy:
                return ShellResult("", self._status, self._directory)
            self._signal(process, _INTERRUPT)
            result = self._wait(process, timeout, 1 << 16)
            if not result.running:
                return result
            self._signal(process, _KILL, since=process.started)
            after = self._wait(process, timeout, 1 << 16)
            if after.running:  # the shell itself is stuck
                self.drop()
                self._status = 128 + _KILL
                after = ShellResult("", self._status, self._directory)
            return ShellResult(result.text + after.text, after.exit_status, after.directory)

    def _start(self) -> "_Process":
        """Start a shell in its directory; or in the root, as a login does, if that is gone."""
        try:
            process = _Process(self._machine, self._directory)
        except MachineError:
            self._machine.check_open()
            if not self._has_worked or self._directory == "/":
                raise
            process = _Process(self._machine, "/")
        self._has_worked = True
        return process

    def _not_started(self, error: MachineError) -> ShellResult:
        """Answer as a shell that ends immediately, if commands have made it impossible to start.

        Raises:
            MachineError: The machine has ended, or no shell has ever been started.
        """
        self._machine.check_open()
        if not self._has_worked:
            raise error
        self._status = _NOT_STARTED
        return ShellResult(f"No shell can be started: {error}\n", _NOT_STARTED, self._directory)

    def _wait(self, process: "_Process", timeout: float, output_limit: int) -> ShellResult:
        kept = HeadAndTail(output_limit)
        report = process.wait(kept, timeout)
        if report is None:
            return ShellResult(kept.text(), None, self._directory, kept.left_out)
        if process is not self._process:  # another thread has ended all processes meanwhile
            return ShellResult(kept.text(), report[0], self._directory, kept.left_out)
        self._status, directory = report
        self._directory = directory or self._directory
        if process.has_ended:
            self.drop()
        return ShellResult(kept.text(), self._status, self._directory, kept.left_out)

    @property
    def pid(self) -> int:
        """The process id of the shell; 0 if it is not running."""
        process = self._process
        return process.job.pid if process else 0

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
        if not state:
            return
        self._has_worked = True  # in the machine that the state comes from
        try:
            process = self._process = self._start()
        except MachineError:
            self._machine.check_open()
            return
        process.begin(f"\\builtin eval {shlex.quote(state)} >/dev/null 2>&1", self._status)
        if self._wait(process, _PATIENCE, 1 << 16).running:
            self.drop()
        self._status = 0

    def drop(self) -> None:
        """End the shell; the next command starts another one in the working directory."""
        process, self._process = self._process, None
        self._directory, self._next_state = self._machine.spec.workdir, ""
        if process is not None:
            self._signal(process, _KILL)

    def forget(self) -> None:
        """Let go of the shell, which has ended; a thread that waits for it hears of its end."""
        self._process, self._next_state = None, ""

    def _signal(self, process: "_Process", number: int, *, since: float | None = None) -> None:
        """Send a signal, if what that needs has not been removed from the machine."""
        with contextlib.suppress(MachineError):
            self._machine.signal(process.job.pid, number, since=since)


class _Process:
    """The process of a shell."""

    def __init__(self, machine: JobStarter, directory: str) -> None:
        self._pipes = Pipes(inputs=2, outputs=1)
        self._input, self._script, self._output = self._pipes.ours
        stdin, script, output = self._pipes.theirs
        try:
            self.job: Job = machine.spawn(
                ["/bin/bash", "--noprofile", "--norc", f"/dev/fd/{_SCRIPT}"],
                [stdin, output, output, script, output],
                env=machine.environment(),
                user=machine.spec.user,
                cwd=directory,
            )
        except BaseException:
            self._pipes.close_all()
            raise
        self._pipes.started()
        self._pipes.hold(self.job.status)
        self._shell_mark = secrets.token_hex(8)
        self._mark = b""
        self._reports = Reports(b"\1" + self._shell_mark.encode(), _REPORT, _LONGEST_REPORT)
        self.is_busy = False
        self.has_ended = False
        self.started = 0.0
        self._answer = (0, "")
        self._to_write = {self._script: memoryview(_BEGIN.encode())}
        """What is yet to be written, by descriptor."""

    def begin(self, text: str, status: int) -> None:
        mark = secrets.token_hex(8)
        command = _COMMAND.format(
            command=shlex.quote(text),
            shell=self._shell_mark,
            mark=mark,
            longest=_LONGEST_PATH + 1,
        )
        self.is_busy, self.started, self._mark = True, time.monotonic(), mark.encode()
        before = _STATUS.format(status=status) if status else ""
        self._add(self._script, encoded(before + command))

    def feed(self, text: str) -> None:
        self._add(self._input, encoded(text))

    def _add(self, descriptor: int, data: bytes) -> None:
        self._to_write[descriptor] = memoryview(bytes(self._to_write.get(descriptor, b"")) + data)

    def wait(self, kept: HeadAndTail, timeout: float) -> tuple[int, str] | None:
        """Write what is to be written, and read until the command ends.

        Returns:
            The exit status and the directory, empty if it is not known; None if the command is
            still running.
        """
        deadline = time.monotonic() + timeout
        poll = select.poll()
        for descriptor in (self._output, self.job.status):
            poll.register(descriptor, select.POLLIN)
        for descriptor in self._to_write:
            poll.register(descriptor, select.POLLOUT)
        is_late = False
        while self.is_busy and not is_late:
            left = max(0.0, deadline - time.monotonic())
            is_late = not left
            for descriptor, _ in poll.poll(left * 1000):
                if descriptor == self.job.status:
                    self._end(kept)
                elif not self._advance(descriptor, kept):
                    poll.unregister(descriptor)
        if self.is_busy:
            self._forget_input(kept)
        return None if self.is_busy else self._answer

    def _advance(self, descriptor: int, kept: HeadAndTail) -> bool:
        """Read or write a piece; return whether there may be more."""
        if descriptor == self._output:
            return self._read(kept, _CHUNK) > 0
        rest = self._to_write.pop(descriptor)
        with contextlib.suppress(BrokenPipeError):  # the shell has ended, which its status says
            if rest := rest[os.write(descriptor, rest[:_CHUNK]) :]:
                self._to_write[descriptor] = rest
        return descriptor in self._to_write

    def _read(self, kept: HeadAndTail, most: int) -> int:
        """Read a piece of the output, with the report that may be in it; return its length."""
        data = os.read(self._output, most)
        for part in self._reports.take(data):
            if isinstance(part, bytes):
                kept.add(part)
            elif self.is_busy and part[1] == self._mark and int(part[2]) < 256:
                path = part[3] if part[3].startswith(b"/") and len(part[3]) < _LONGEST_PATH else b""
                self._answer = int(part[2]), path.decode("utf-8", "surrogateescape")
                self.is_busy = False
        return len(data)

    def drain(self, kept: HeadAndTail) -> None:
        """Read what is there now, and not what is written meanwhile."""
        left = bytes_waiting(self._output)
        while left > 0:
            left -= self._read(kept, min(left, _CHUNK)) or left

    def _end(self, kept: HeadAndTail) -> None:
        """Take the last output and the exit status of the shell itself."""
        self.drain(kept)
        if self.is_busy:
            self._answer, self.is_busy = (self._last_status(), ""), False
        self.has_ended = True

    def _last_status(self) -> int:
        data = os.read(self.job.status, 4)
        if len(data) < 4:
            return 128 + _KILL
        code = os.waitstatus_to_exitcode(int.from_bytes(data, "little", signed=True))
        return 128 - code if code < 0 else code

    def _forget_input(self, kept: HeadAndTail) -> None:
        """Drop the input that the command has not read in time, and say so."""
        if rest := self._to_write.pop(self._input, None):
            kept.add(f"[{len(rest)} bytes of the input were not read]\n".encode())
