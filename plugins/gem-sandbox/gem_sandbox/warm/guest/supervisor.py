"""A supervisor: gets isolation scopes from the zygote, monitors programs, and answers the host.

It serves one caller after another. No program is forked from it, so programs cannot find what it
knows of other ones.
"""

import contextlib
import marshal
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from gem_sandbox.guest.process_tree import ProcessStopper
from gem_sandbox.warm.guest import fd_passing
from gem_sandbox.warm.guest.exit_status import unpack_exit_report
from gem_sandbox.warm.guest.isolation import Isolation
from gem_sandbox.warm.guest.messages import (
    CELL,
    END,
    ENDED,
    LOST,
    NEXT,
    NO_MORE_TESTS,
    RUN,
    SESSION,
    TEST,
    TESTS,
    Outcome,
    pack_request,
    pack_scope_limits,
)
from gem_sandbox.warm.guest.monitor import (
    HOST_GONE,
    Monitor,
    Streams,
    file_of,
    outcome_of,
)
from gem_workers.frames import CHUNK, DIED, Frame, FrameReader, pack

__all__ = ["Supervisor"]

_PATIENCE = 10_000
"""Milliseconds in which a killed run must be dead."""
_SIGNAL_AGAIN = 50
"""Milliseconds after which the signal that ends a scope is sent again."""
_IDLE_TICK = 200
"""Milliseconds between two looks at an idle session."""
_KILLED = 9, 0, 0.0
"""The exit report of a process that was killed."""


class _HostGoneError(Exception):
    """The host has closed the connection."""


class Supervisor:
    """Serves a host until it closes the connection.

    Args:
        connection: The socket to the host.
        link: The socket to the zygote.
        isolation: The isolation of the runs.
    """

    def __init__(
        self, connection: socket.socket, link: socket.socket, isolation: Isolation
    ) -> None:
        self._connection = connection
        self._link = link
        self._isolation = isolation
        self._scope: _Scope | None = None

    def serve(self) -> None:
        """Answer the host's requests."""
        try:
            with contextlib.suppress(_HostGoneError, ConnectionError):
                while (frame := self._receive()).kind != DIED:
                    self._begin(frame)
        finally:
            self._leave()

    def _begin(self, frame: Frame) -> None:
        kinds = {RUN: self._run, TESTS: self._run_tests, SESSION: self._hold_session}
        kinds[bytes(frame.kind)](marshal.loads(frame.body))  # noqa: S302 - from our host

    def _receive(self) -> Frame:
        reader = FrameReader()
        while (frame := reader.feed(self._connection.recv(CHUNK))) is None:
            pass
        return frame

    def _answer(self, *outcomes: Outcome | None, last: bool = False) -> None:
        """Answer the host; without an outcome, the run was lost."""
        known = [outcome.pack() for outcome in outcomes if outcome is not None]
        answer = pack(ENDED, b"".join(known), last=last) if known else pack(DIED, last=last)
        self._connection.sendall(answer)

    def _enter(self, limits: dict[str, Any]) -> "_Scope":
        """Return the isolation scope of the last program, or a new one if the limits differ."""
        packed = pack_scope_limits(limits)
        if self._scope is None or self._scope.limits != packed:
            self._leave()
            self._scope = _Scope(self._link, self._isolation, packed)
        return self._scope

    def _leave(self) -> None:
        """Kill the isolation scope."""
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.close()

    def _monitor(
        self, scope: "_Scope", streams: Streams, limits: dict[str, Any], signs: set[int]
    ) -> Monitor:
        signs = {scope.link.fileno(), *signs}
        host = self._connection.fileno()
        return Monitor(scope.init, streams, self._isolation, limits, signs=signs, host=host)

    def _run(self, request: dict[str, Any]) -> None:
        scope = self._enter(request)
        streams = Streams(request.pop("inputs")[0], request["output_limit"])
        scope.send(RUN, request, streams.theirs)
        streams.close_theirs()
        monitor = self._monitor(scope, streams, request, set())
        outcome, alive = _await_end(scope, streams, monitor)
        streams.close()
        if not alive:
            self._leave()
        self._answer(outcome)

    def _run_tests(self, request: dict[str, Any]) -> None:
        frame = Frame(NEXT, body=marshal.dumps(request.pop("inputs")))
        tests: _Tests | None = None
        while frame.kind == NEXT:
            outcomes: list[Outcome] = []
            for stdin in marshal.loads(frame.body):  # noqa: S302 - from our host
                tests = tests or self._start_tests(request)
                outcome, alive = tests.run_next(stdin)
                if not alive:
                    tests = None
                    self._leave()
                if outcome is None:
                    break
                outcomes.append(outcome)
                request["tests"] -= 1
                if outcome.exit_status:
                    break  # the host may want no more runs
            self._answer(*outcomes)
            if not request["tests"]:
                break
            frame = self._receive()
        else:
            self._confirm(frame)
        if tests is not None and not tests.end(is_early=request["tests"] > 0):
            self._leave()

    def _start_tests(self, request: dict[str, Any]) -> "_Tests":
        scope = self._enter(request)
        tests = _Tests(scope, request)
        tests.monitor = self._monitor(scope, tests.streams, request, set())
        return tests

    def _confirm(self, frame: Frame) -> None:
        """Confirm the end of tests or of a session; any other frame means that the host is gone."""
        if frame.kind != END:
            raise _HostGoneError
        self._connection.sendall(pack(ENDED))

    def _hold_session(self, request: dict[str, Any]) -> None:
        frame = Frame(CELL, body=marshal.dumps(request.pop("piece")))
        session = _Session(self._enter(request), self._isolation, request)
        monitor = self._monitor(session.scope, session.streams, request, {session.answered})
        alive = True
        while frame.kind == CELL and alive:
            piece = marshal.loads(frame.body)  # noqa: S302 - from our host
            outcome, alive = session.run_piece(monitor, *piece)
            self._answer(outcome, last=not alive)
            lost = self._watch_idle(session, monitor) if alive else ""
            frame = self._receive() if alive else Frame(END)
            if lost and frame.kind == CELL:
                self._connection.sendall(pack(LOST, lost.encode(), last=True))
                alive = False
        self._leave()
        session.close()
        if alive:
            self._confirm(frame)

    def _watch_idle(self, session: "_Session", monitor: Monitor) -> str:
        """Watch a session until the host sends something; return why it was ended, if it was."""
        connection = select.poll()
        connection.register(self._connection, select.POLLIN)
        while not connection.poll(_IDLE_TICK):
            if lost := session.fault(monitor):
                self._leave()
                return lost
        return ""


class _Scope:
    """An isolation scope, forked by the zygote, for one program after another.

    Args:
        zygote: The socket to the zygote.
        isolation: The isolation of its programs.
        limits: The limits of all its programs, packed.
    """

    def __init__(self, zygote: socket.socket, isolation: Isolation, limits: bytes) -> None:
        self.limits = limits
        self._isolation = isolation
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd_passing.send(zygote, limits, [theirs.fileno()])
        theirs.close()
        message, passed = fd_passing.receive(zygote)
        if not passed:
            raise _HostGoneError  # the zygote cannot fork, or is gone; the host will try again
        self.init, self._pidfd = int(message), passed[0]

    def send(self, kind: bytes, request: dict[str, Any], descriptors: Sequence[int]) -> None:
        """Send a request, with descriptors of standard input, output, error and others."""
        content = pack_request(request)
        files = [] if len(content) < fd_passing.MAX_MESSAGE else [file_of(content)]
        with contextlib.suppress(ConnectionError):
            message = kind if files else kind + content
            fd_passing.send(self.link, message, [*files, *descriptors])
        for file in files:
            os.close(file)

    def exit_report(self, kind: bytes) -> tuple[int, int, float] | None:
        """Return the report about the end of a program or test; None if there is none."""
        with contextlib.suppress(OSError, ValueError, struct.error):
            return unpack_exit_report(kind, self.link.recv(1 << 8, socket.MSG_DONTWAIT))
        return None

    def kill(self) -> None:
        """Kill all its processes, and wait until they are dead.

        An init process that handles the signal may get it just before it begins to wait for a
        program, and then handles it only after the wait: so the signal is sent again.
        """
        for _ in range(_PATIENCE // _SIGNAL_AGAIN):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, self._isolation.end_signal)
            if _is_readable(self._pidfd, _SIGNAL_AGAIN):
                return
        raise _HostGoneError  # then the zygote kills everything

    def close(self) -> None:
        """Kill all its processes, and release its descriptors."""
        try:
            self.kill()
        finally:
            os.close(self._pidfd)
            self.link.close()


def _is_readable(descriptor: int, milliseconds: int = _PATIENCE) -> bool:
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(milliseconds))


class _Tests:
    """The runs of one program for several inputs, by a fork server."""

    monitor: Monitor

    def __init__(self, scope: _Scope, request: dict[str, Any]) -> None:
        self._scope = scope
        self.streams = Streams(b"", request["output_limit"])
        scope.send(TESTS, request, self.streams.theirs)
        self.streams.close_theirs()

    def run_next(self, stdin: bytes) -> tuple[Outcome | None, bool]:
        """Run the program once; also return whether it can run again."""
        descriptor = file_of(stdin)
        with contextlib.suppress(ConnectionError):
            fd_passing.send(self._scope.link, TEST, [descriptor])
        os.close(descriptor)
        outcome, alive = _await_end(self._scope, self.streams, self.monitor, TEST)
        if not alive:
            self.streams.close()
        return outcome, alive

    def end(self, *, is_early: bool) -> bool:
        """End the fork server, perhaps before its last run; return whether the scope is usable."""
        self.streams.close()
        with contextlib.suppress(OSError):
            for _ in range(2 if is_early else 0):
                self._scope.link.send(NO_MORE_TESTS)
        return _is_readable(self._scope.link.fileno()) and self._scope.exit_report(END) is not None


def _await_end(
    scope: _Scope, streams: Streams, monitor: Monitor, kind: bytes = END
) -> tuple[Outcome | None, bool]:
    """Monitor a program until it ends; see ``_sum_up`` for the result."""
    start = time.monotonic()
    monitor.peak = 0
    limit = monitor.wait(start + monitor.limits["timeout"])
    return _sum_up(scope, streams, monitor, limit, start, kind)


def _sum_up(
    scope: _Scope,
    streams: Streams,
    monitor: Monitor,
    limit: str,
    start: float,
    kind: bytes = END,
) -> tuple[Outcome | None, bool]:
    """Return a program's outcome, None if it was lost, and whether its scope is still usable."""
    if limit == HOST_GONE:
        raise _HostGoneError
    if limit:
        monitor.check_processes()
        scope.kill()
    end = None if limit else scope.exit_report(kind)
    if end is None and not limit:
        return None, False
    duration = time.monotonic() - start
    if streams.drain(streams.open if limit else monitor.ready) and not limit:
        limit = "output"
    status, peak, seconds = end or _KILLED
    end = status, max(peak, monitor.peak), seconds
    outcome = outcome_of(end, limit, duration, streams.take(), monitor.limits["cpu_time"])
    return outcome, not limit


class _Session:
    """A process that runs one piece after another; all its processes are stopped in between."""

    def __init__(self, scope: _Scope, isolation: Isolation, request: dict[str, Any]) -> None:
        self._stopper = ProcessStopper(lambda: isolation.processes(scope.init))
        self.streams = Streams(b"", request["output_limit"])
        pieces, self._ask = os.pipe()
        self.answered, answers = os.pipe()
        for descriptor in (self._ask, self.answered):
            os.set_blocking(descriptor, False)
        self.scope = scope
        scope.send(SESSION, request, [*self.streams.theirs, pieces, answers])
        self.streams.close_theirs()
        os.close(pieces)
        os.close(answers)

    def run_piece(
        self, monitor: Monitor, source: bytes, seconds: float
    ) -> tuple[Outcome | None, bool]:
        """Run a piece; return its outcome, and whether the session can run another one."""
        start = time.monotonic()
        self._stopper.resume()
        message = len(source).to_bytes(4, "big") + source
        asked = _write_until(start + seconds, self._ask, message)
        limit = monitor.wait(start + seconds) if asked else "wall_time"
        status = None if limit else self._status()
        if status is None:
            if not limit:  # the pipe is closed: the process has ended, or closed it and goes on
                monitor.forget(self.answered)
                limit = monitor.wait(start + seconds)
            return _sum_up(self.scope, self.streams, monitor, limit, start)[0], False
        limit = "" if self._stopper.stop() else "processes"
        if self.streams.drain(self.streams.open):
            limit = "output"
        limit = limit or monitor.check_processes()
        if limit:
            return _sum_up(self.scope, self.streams, monitor, limit, start)[0], False
        duration = time.monotonic() - start
        return Outcome(status, "", duration, -1.0, monitor.peak, *self.streams.take()), True

    def fault(self, monitor: Monitor) -> str:
        """Return why an idle session must end, or nothing."""
        if not self._stopper.are_stopped():
            return "a process went on while the session was idle"
        limit = monitor.check_processes()
        return limit and f"it met its limit of {limit}"

    def _status(self) -> int | None:
        """Return the exit status of the piece, None if the process has not reported one."""
        with contextlib.suppress(BlockingIOError):
            words = os.read(self.answered, 64).split()
            return int(words[0]) & 0xFF if words and words[0].isdigit() else None
        return None

    def close(self) -> None:
        """Release its descriptors, once it is dead."""
        self.streams.close()
        os.close(self._ask)
        os.close(self.answered)


def _write_until(end: float, descriptor: int, content: bytes) -> bool:
    """Write to a pipe that may be full; return whether that was possible in time."""
    rest = memoryview(content)
    writable = select.poll()
    writable.register(descriptor, select.POLLOUT)
    while rest and time.monotonic() < end:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            writable.poll(max(0.0, end - time.monotonic()) * 1000)
        except BrokenPipeError:
            return True  # the monitor will notice its end
    return not rest
