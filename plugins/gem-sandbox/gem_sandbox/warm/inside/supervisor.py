"""A supervisor: a process that has runs begun by the zygote, watches over them and answers a host.

It lives long and serves one caller after the other. No run is ever forked from it, so what it
knows of other programs is out of reach for them.
"""

import contextlib
import marshal
import os
import select
import signal
import socket
import struct
import time
from typing import Any, Self

from gem_core.workers.frames import CHUNK, DIED, Frame, FrameReader, pack
from gem_sandbox.warm.inside import passing
from gem_sandbox.warm.inside.messages import (
    CELL,
    END,
    ENDED,
    NEXT,
    RUN,
    SESSION,
    TESTS,
    Outcome,
    unpack_end,
)
from gem_sandbox.warm.inside.walls import Walls
from gem_sandbox.warm.inside.watch import HOST_GONE, Streams, Watch, outcome_of, stdin_of

__all__ = ["Supervisor"]

_PATIENCE = 10_000
"""Milliseconds that a killed run has to be dead."""
_UNKNOWN = 9, 0, 0.0
"""The end of a process that was killed before it could tell."""


class _HostGoneError(Exception):
    """Nobody waits for an answer any more."""


class Supervisor:
    """Serves a host until it hangs up.

    Args:
        connection: To the host.
        link: To the zygote.
        walls: What the runs are behind.
    """

    def __init__(self, connection: socket.socket, link: socket.socket, walls: Walls) -> None:
        self._connection = connection
        self._link = link
        self._walls = walls

    def serve(self) -> None:
        """Answer what the host asks."""
        with contextlib.suppress(_HostGoneError, ConnectionError):
            while (frame := self._receive()).kind != DIED:
                self._begin(frame)

    def _begin(self, frame: Frame) -> None:
        kinds = {RUN: self._run, TESTS: self._run_tests, SESSION: self._hold_session}
        kinds[bytes(frame.kind)](marshal.loads(frame.body))  # noqa: S302 - from our host

    def _receive(self) -> Frame:
        reader = FrameReader()
        while (frame := reader.feed(self._connection.recv(CHUNK))) is None:
            pass
        return frame

    def _answer(self, *outcomes: Outcome | None, last: bool = False) -> None:
        """Answer the host; without an outcome: that the run was lost."""
        known = [outcome.pack() for outcome in outcomes if outcome is not None]
        answer = pack(ENDED, b"".join(known), last=last) if known else pack(DIED, last=last)
        self._connection.sendall(answer)

    def _run(self, request: dict[str, Any]) -> None:
        streams = Streams(request.pop("inputs")[0], request["output_limit"])
        with _Run(self._link, self._walls, streams.theirs) as run:
            streams.close_theirs()
            run.tell(RUN, request)
            outcome, _ = _see_end(run, streams, self._watch(run, streams, request, set()))
            streams.close()
            self._answer(outcome)

    def _watch(
        self, run: "_Run", streams: Streams, limits: dict[str, Any], signs: set[int]
    ) -> Watch:
        signs = {run.channel.fileno(), *signs}
        host = self._connection.fileno()
        return Watch(run.first, streams, self._walls, limits, signs=signs, host=host)

    def _run_tests(self, request: dict[str, Any]) -> None:
        frame = Frame(NEXT, body=marshal.dumps(request.pop("inputs")))
        tests: _Tests | None = None
        try:
            while frame.kind == NEXT:
                outcomes: list[Outcome] = []
                for stdin in marshal.loads(frame.body):  # noqa: S302 - from our host
                    tests = tests or self._begin_tests(request)
                    outcome, alive = tests.run_next(stdin)
                    if not alive:
                        tests.close()
                        tests = None
                    if outcome is None:
                        break
                    outcomes.append(outcome)
                    request["tests"] -= 1
                    if outcome.exit_status:
                        break  # the host may want no more of them
                self._answer(*outcomes)
                frame = self._receive()
        finally:
            if tests is not None:
                tests.close()
        self._confirm(frame)

    def _begin_tests(self, request: dict[str, Any]) -> "_Tests":
        tests = _Tests(self._link, self._walls, request)
        tests.watch = self._watch(tests.run, tests.streams, request, set())
        return tests

    def _confirm(self, frame: Frame) -> None:
        """Answer the end of a conversation; what else comes instead is the host's going."""
        if frame.kind != END:
            raise _HostGoneError
        self._connection.sendall(pack(ENDED))

    def _hold_session(self, request: dict[str, Any]) -> None:
        frame = Frame(CELL, body=marshal.dumps(request.pop("piece")))
        session = _Session(self._link, self._walls, request)
        try:
            watch = self._watch(session.run, session.streams, request, {session.answered})
            alive = True
            while frame.kind == CELL and alive:
                piece = marshal.loads(frame.body)  # noqa: S302 - from our host
                outcome, alive = session.run_piece(watch, *piece)
                self._answer(outcome, last=not alive)
                frame = self._receive() if alive else Frame(END)
        finally:
            session.close()
        if alive:
            self._confirm(frame)


class _Run:
    """A run that the zygote has begun.

    Args:
        link: To the zygote.
        walls: What it is behind.
        streams: Standard input, output and error.
        more: Descriptors for it beyond these.
    """

    def __init__(
        self, link: socket.socket, walls: Walls, streams: list[int], more: tuple[int, ...] = ()
    ) -> None:
        self._walls = walls
        self.channel, theirs = socket.socketpair()
        passing.send(link, b"R", [*streams, theirs.fileno(), *more])
        theirs.close()
        message, passed = passing.receive(link)
        if not passed:
            raise _HostGoneError  # the zygote cannot fork, or is gone: the host is to try again
        self.first, self._pidfd = int(message), passed[0]

    def tell(self, kind: bytes, request: dict[str, Any]) -> None:
        """Tell it what to run."""
        with contextlib.suppress(ConnectionError):
            self.channel.sendall(pack(kind, marshal.dumps(request)))

    def switch(self, channel: socket.socket) -> None:
        """Speak over another channel, as one that was used for bytes cannot pass descriptors."""
        self.channel.close()
        self.channel = channel

    def end(self) -> tuple[int, int, float] | None:
        """Return how a program ended, None if nobody told."""
        with contextlib.suppress(OSError, struct.error):
            return unpack_end(self.channel.recv(64, socket.MSG_DONTWAIT))
        return None

    def kill(self) -> None:
        """Kill all of it, and wait until it is dead."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, self._walls.end_signal)
        dead = select.poll()
        dead.register(self._pidfd, select.POLLIN)
        if not dead.poll(_PATIENCE):
            raise _HostGoneError  # have the zygote kill what does not end

    def close(self) -> None:
        """Kill all of it, and let go."""
        try:
            self.kill()
        finally:
            os.close(self._pidfd)
            self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Tests:
    """One program that runs again and again, in one place."""

    watch: Watch

    def __init__(self, link: socket.socket, walls: Walls, request: dict[str, Any]) -> None:
        self.streams = Streams(b"", request["output_limit"])
        ours, theirs = socket.socketpair()
        nothing, *outputs = self.streams.theirs
        self.run = _Run(link, walls, [nothing] * 3, (theirs.fileno(), *outputs))
        theirs.close()
        self.streams.close_theirs()
        self.run.tell(TESTS, request)
        self.run.switch(ours)

    def run_next(self, stdin: bytes) -> tuple[Outcome | None, bool]:
        """Run it once; also tell whether it can run again."""
        descriptor = stdin_of(stdin)
        with contextlib.suppress(ConnectionError):
            passing.send(self.run.channel, b"G", [descriptor])
        os.close(descriptor)
        return _see_end(self.run, self.streams, self.watch)

    def close(self) -> None:
        """End it."""
        self.run.close()
        self.streams.close()


def _see_end(run: _Run, streams: Streams, watch: Watch) -> tuple[Outcome | None, bool]:
    """Watch a program to its end; also tell whether its run is there for another one."""
    start = time.monotonic()
    watch.peak = 0
    limit = watch.wait(start + watch.limits["timeout"])
    return _sum_up(run, streams, watch, limit, start)


def _sum_up(
    run: _Run, streams: Streams, watch: Watch, limit: str, start: float
) -> tuple[Outcome | None, bool]:
    """Return what became of a program, and whether its run is there for another one."""
    if limit == HOST_GONE:
        raise _HostGoneError
    if limit:
        watch.look()
        run.kill()
    end = None if limit else run.end()
    if end is None and not limit:
        return None, False
    duration = time.monotonic() - start
    if streams.drain() and not limit:
        limit = "output"
    status, peak, seconds = end or _UNKNOWN
    end = status, max(peak, watch.peak), seconds
    outcome = outcome_of(end, limit, duration, streams.take(), watch.limits["cpu_time"])
    return outcome, not limit


class _Session:
    """One process that runs one piece after the other; in between all of it stands still."""

    def __init__(self, link: socket.socket, walls: Walls, request: dict[str, Any]) -> None:
        self._walls = walls
        self.streams = Streams(b"", request["output_limit"])
        pieces, self._ask = os.pipe()
        self.answered, answers = os.pipe()
        for descriptor in (self._ask, self.answered):
            os.set_blocking(descriptor, False)
        self.run = _Run(link, walls, self.streams.theirs, (pieces, answers))
        self.streams.close_theirs()
        os.close(pieces)
        os.close(answers)
        self.run.tell(SESSION, request)

    def run_piece(self, watch: Watch, source: bytes, seconds: float) -> tuple[Outcome | None, bool]:
        """Run a piece; also tell whether there can be another one."""
        start = time.monotonic()
        self._walls.signal_all(self.run.first, signal.SIGCONT)
        question = len(source).to_bytes(4, "big") + source
        asked = _write_until(start + seconds, self._ask, question)
        limit = watch.wait(start + seconds) if asked else "wall_time"
        status = None if limit else self._status()
        if status is None:
            return _sum_up(self.run, self.streams, watch, limit, start)[0], False
        self._walls.signal_all(self.run.first, signal.SIGSTOP)
        limit = "output" if self.streams.drain() else watch.look()
        if limit:
            return _sum_up(self.run, self.streams, watch, limit, start)[0], False
        duration = time.monotonic() - start
        return Outcome(status, "", duration, watch.peak, *self.streams.take()), True

    def _status(self) -> int | None:
        """Return the exit status of the piece that has run, None if there was no end to it."""
        with contextlib.suppress(BlockingIOError):
            said = os.read(self.answered, 64).split()
            return int(said[0]) & 0xFF if said and said[0].isdigit() else None
        return None

    def close(self) -> None:
        """End it."""
        self.run.close()
        self.streams.close()
        os.close(self._ask)
        os.close(self.answered)


def _write_until(end: float, descriptor: int, content: bytes) -> bool:
    """Write to a pipe that may be full; tell whether it could be done in time."""
    rest = memoryview(content)
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    while rest and time.monotonic() < end:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            room.poll(max(0.0, end - time.monotonic()) * 1000)
        except BrokenPipeError:
            return True  # its end shows elsewhere
    return not rest
