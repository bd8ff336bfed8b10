"""Run one program, or the pieces of one session, until they end or meet a limit."""

from __future__ import annotations

import base64
import contextlib
import os
import select
import selectors
import signal
import struct
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from gem_sandbox.guest.folders import scratch_file, with_user
from gem_sandbox.guest.memory import tree_memory
from gem_sandbox.guest.messages import receive, send
from gem_sandbox.guest.process_tree import ProcessStopper, descendants
from gem_sandbox.guest.processes import (
    call_filter,
    cpu_time_of,
    end_tree,
    environment,
    oom_kills,
    peak_memory,
    set_limits,
    set_oom_score,
    tasks_below,
)

__all__ = ["ProgramRun", "Run", "SessionRun"]

CHUNK = 1 << 16
COUNT_SECONDS = 0.05
IDLE_MILLISECONDS = 200
LIMIT_STATUS = 128 + signal.SIGKILL
LONGEST_ANSWER = 16
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Run(ABC):
    """A process and its output, up to the first limit that it meets.

    Args:
        config: The runner's configuration.
        request: The program and its limits.
        folder: The working directory.
    """

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, config: dict[str, Any], request: dict[str, Any], folder: str) -> None:
        self.config, self.request, self.folder = config, request, folder
        self.limit: str | None = None
        self.answer = b""
        self.count_at = 0.0
        self.runner = os.getppid()
        self.ooms = oom_kills()
        self.kept: dict[int, bytearray] = {}
        self.selector = selectors.DefaultSelector()
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.listen(woken, lambda: os.read(woken, CHUNK))
        self.listen(0, self.note_host_gone)

    @abstractmethod
    def serve(self) -> bool:
        """Serve the request, and answer; return whether the host is still there."""

    def start(self, arguments: list[str], stdin: Any, passed: tuple[int, ...] = ()) -> None:
        """Start the interpreter in a new process session."""
        user = self.config["user"]
        as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        forbid_calls = call_filter(self.config["filters"])

        def confine() -> None:
            set_limits(self.request, shared_user=user is None)
            forbid_calls()

        set_oom_score(1000)
        self.process = subprocess.Popen(  # noqa: S603 - the purpose
            [*self.config["command"], *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=environment(self.folder, customized=bool(self.request["sitecustomize"])),
            pass_fds=passed,
            start_new_session=True,
            preexec_fn=confine,  # noqa: PLW1509 - this process has one thread
            **as_user,
        )
        set_oom_score(0)
        for stream in (self.process.stdout, self.process.stderr):
            self.keep(stream.fileno())  # type: ignore[union-attr]

    def keep(self, stream: int) -> None:
        """Collect what the program writes to a pipe."""
        os.set_blocking(stream, False)
        self.kept[stream] = bytearray()
        self.listen(stream, lambda: self.read(stream))

    def listen(self, descriptor: int, act: Callable[[], Any], events: int = READ) -> None:
        """Call ``act`` whenever a descriptor is readable (or writable)."""
        self.selector.register(descriptor, events, act)

    def forget(self, descriptor: int) -> None:
        """Stop listening to a descriptor."""
        if descriptor in self.selector.get_map():
            self.selector.unregister(descriptor)

    def read(self, stream: int) -> bool:
        """Collect what can be read now, up to the limit; return whether there was anything."""
        try:
            chunk = os.read(stream, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.forget(stream)
            return False
        space = self.request["output_limit"] - len(self.kept[stream])
        self.kept[stream] += chunk[:space]
        if len(chunk) > space:
            self.limit = "output"
        return True

    def drain(self) -> None:
        """Collect what has been written by now, up to the limit."""
        for stream in self.kept:
            while stream in self.selector.get_map() and self.limit is None and self.read(stream):
                pass

    def note_host_gone(self) -> None:
        """Note that the host has closed its end: it never writes while a program runs."""
        self.limit = "gone"

    def watch(self, end: float) -> tuple[str | None, int | None, Any]:
        """Wait for the end, an answer or a limit; return (limit, wait status, resource usage)."""
        while self.limit is None:
            status, usage = self.ended()
            if status is not None or b"\n" in self.answer:
                self.drain()
                return self.limit, status, usage
            left = end - time.monotonic()
            if os.getppid() != self.runner:
                self.limit = "gone"
            elif left <= 0:
                self.limit = "wall_time"
            elif (limit := self.limit_of_all()) is not None:
                self.limit = limit
            else:
                for key, _ in self.selector.select(min(left, COUNT_SECONDS)):
                    key.data()
        return self.limit, None, None

    def ended(self) -> tuple[int | None, Any]:
        """Return the wait status of the process, None while it runs, and its resource usage."""
        process = self.process
        pid = -1
        while process is not None and pid:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == process.pid:
                process.returncode = status
                return status, usage  # any other one was an orphan
        return None, None

    def limit_of_all(self) -> str | None:
        """Return the limit that all processes exceed together, measured at intervals.

        In a container, the kernel limits both: processes by their user, memory by the container.
        """
        now = time.monotonic()
        if self.config["user"] is not None or now < self.count_at:
            return None
        self.count_at = now + COUNT_SECONDS
        if tasks_below(os.getpid()) > int(self.request["processes"]):
            return "processes"
        memory = int(self.request["memory"])
        used = tree_memory(descendants(os.getpid()), 0, memory)
        return "memory" if used > memory else None

    def verdict(self, limit: str | None, status: int | None, usage: Any) -> tuple[str | None, int]:
        """Return the limit that ended the program, and its exit status."""
        if limit is not None or status is None:
            return limit, LIMIT_STATUS
        code = os.WTERMSIG(status) + 128 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        cpu_time = self.request["cpu_time"]
        if code == 128 + signal.SIGXFSZ:
            limit = "file_size"
        elif code == 128 + signal.SIGXCPU or (
            code == LIMIT_STATUS and cpu_time is not None and cpu_time_of(usage) > cpu_time
        ):
            limit = "cpu_time"
        elif oom_kills() > self.ooms or (code and self.says_out_of_memory()):
            limit = "memory"  # whichever of its processes was killed
        return limit, code

    def says_out_of_memory(self) -> bool:
        """Whether the last line of stderr is a ``MemoryError``."""
        stderr = bytes(list(self.kept.values())[1][-CHUNK:]).rstrip()
        return stderr.rpartition(b"\n")[2].startswith(b"MemoryError")

    def answer_host(self, begun: float, limit: str | None, code: int, **more: Any) -> None:
        """Send the result to the host."""
        if limit == "gone":
            raise BrokenPipeError
        stdout, stderr = (base64.b64encode(bytes(kept)).decode() for kept in self.kept.values())
        duration = time.monotonic() - begun
        message = {"exit_status": code, "limit": limit, "duration": duration, **more}
        send({"execution": {**message, "stdout": stdout, "stderr": stderr}})


class ProgramRun(Run):
    """A run of one program."""

    def serve(self) -> bool:
        """Run the program, and send its result."""
        begun = time.monotonic()
        with with_user(self.config["user"], scratch_file, self.folder) as stdin:
            stdin.write(base64.b64decode(self.request["stdin"]))
            stdin.seek(0)
            self.start([self.request["name"], *self.request["arguments"]], stdin)
        limit, status, usage = self.watch(begun + self.request["timeout"])
        limit, code = self.verdict(limit, status, usage)
        seconds = None if usage is None else cpu_time_of(usage)
        self.answer_host(begun, limit, code, peak_memory=peak_memory(usage), cpu_time=seconds)
        return True


class SessionRun(Run):
    """A session: runs one piece after another, and stops all its processes in between."""

    stopper: ProcessStopper
    is_begun = False
    """Whether a piece has been run; before the first one, the interpreter starts."""

    def serve(self) -> bool:
        """Run pieces until the host ends the session, or until a piece ends the process."""
        asked, ask = os.pipe()
        answered, answers = os.pipe()
        os.set_blocking(ask, False)
        start = f"{self.config['cells']}\nserve({asked}, {answers})"
        self.start(["-c", start], subprocess.DEVNULL, (asked, answers))
        os.close(asked)
        os.close(answers)
        self.listen(answered, lambda: self.take_answer(answered))
        self.stopper = ProcessStopper(self.processes)
        alive = True
        while alive:
            self.forget(0)
            lost = self.watch_idle()
            request = receive()
            if request is None or request["do"] != "cell":
                return request is not None
            if lost:
                send({"lost": lost})
                return True
            self.listen(0, self.note_host_gone)
            alive = self.cell(request, ask)
        return True

    def processes(self) -> list[int]:
        """Return all processes of the session."""
        if self.config["user"] is None:
            return descendants(os.getpid())
        # In a container, orphans are children of process 1, and nothing else runs there.
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        return sorted(pids - {1, os.getpid()})

    def watch_idle(self) -> str:
        """Watch the session until the host sends something; return why it was ended, if it was."""
        host = select.poll()
        host.register(0, select.POLLIN)
        while not host.poll(IDLE_MILLISECONDS):
            if os.getppid() != self.runner:
                raise BrokenPipeError
            lost = self.fault()
            if lost:
                self.end()
                return lost
        return ""

    def fault(self) -> str:
        """Return why the idle session must end, or nothing."""
        if not self.is_begun:
            return ""
        if not self.stopper.are_stopped():
            return "a process went on while the session was idle"
        limit = self.limit_of_all()
        return f"it met its limit of {limit}" if limit else ""

    def end(self) -> None:
        """Kill all processes of the session."""
        if self.config["user"] is None:
            end_tree()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # reaches neither process 1 nor this one

    def cell(self, request: dict[str, Any], ask: int) -> bool:
        """Run a piece, and send its result; return whether the session can go on."""
        begun = time.monotonic()
        source = base64.b64decode(request["source"])
        piece = memoryview(struct.pack("!I", len(source)) + source)
        self.answer = b""
        for kept in self.kept.values():
            kept.clear()
        self.listen(ask, self.piece_writer(ask, piece), WRITE)
        self.is_begun = True
        self.stopper.resume()
        limit, status, usage = self.watch(begun + request["timeout"])
        self.forget(ask)
        if limit is None and status is None:
            limit = self.limit_at_rest()
        alive = limit is None and status is None
        if alive:
            code = int(self.answer) & 0xFF if self.answer.strip().isdigit() else 1
        else:
            limit, code = self.verdict(limit, status, usage)
        self.answer_host(begun, limit, code, alive=alive)
        return alive

    def limit_at_rest(self) -> str | None:
        """Stop all processes after a piece; return the limit that they exceed, if any."""
        if not self.stopper.stop():
            return "processes"
        self.count_at = 0.0
        return "memory" if oom_kills() > self.ooms else self.limit_of_all()

    def piece_writer(self, ask: int, piece: memoryview) -> Callable[[], None]:
        """Return a function that writes as much of a piece as fits into the pipe."""
        rest = [piece]

        def write() -> None:
            with contextlib.suppress(BlockingIOError):
                try:
                    rest[0] = rest[0][os.write(ask, rest[0]) :]
                except BrokenPipeError:
                    rest[0] = rest[0][:0]
            if not rest[0]:
                self.forget(ask)

        return write

    def take_answer(self, answered: int) -> None:
        """Read the exit status of a piece; cut off what a hostile program may add."""
        chunk = os.read(answered, LONGEST_ANSWER)
        if not chunk:
            self.forget(answered)
        self.answer += chunk[: LONGEST_ANSWER - len(self.answer)]
