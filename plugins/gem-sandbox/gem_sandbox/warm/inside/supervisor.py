"""A supervisor: has a room made by the zygote, watches over its programs and answers a host.

It lives long and serves one caller after the other. No program is ever forked from it, so what it
knows of the others is out of reach for them.
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

from gem_sandbox.warm.inside import passing
from gem_sandbox.warm.inside.ends import unpack_end
from gem_sandbox.warm.inside.messages import (
    CELL,
    END,
    ENDED,
    NEXT,
    OVER,
    RUN,
    SESSION,
    TEST,
    TESTS,
    Outcome,
    pack_request,
    pack_room,
)
from gem_sandbox.warm.inside.walls import Walls
from gem_sandbox.warm.inside.watch import HOST_GONE, Streams, Watch, file_of, outcome_of, stdin_of
from gem_workers.frames import CHUNK, DIED, Frame, FrameReader, pack

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
        self._room: _Room | None = None

    def serve(self) -> None:
        """Answer what the host asks."""
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
        """Answer the host; without an outcome: that the run was lost."""
        known = [outcome.pack() for outcome in outcomes if outcome is not None]
        answer = pack(ENDED, b"".join(known), last=last) if known else pack(DIED, last=last)
        self._connection.sendall(answer)

    def _enter(self, limits: dict[str, Any]) -> "_Room":
        """Return the room where the last program was, or a new one."""
        kind = pack_room(limits)
        if self._room is None or self._room.kind != kind:
            self._leave()
            self._room = _Room(self._link, self._walls, kind)
        return self._room

    def _leave(self) -> None:
        """Have nobody use the room again."""
        room, self._room = self._room, None
        if room is not None:
            room.close()

    def _watch(
        self, room: "_Room", streams: Streams, limits: dict[str, Any], signs: set[int]
    ) -> Watch:
        signs = {room.link.fileno(), *signs}
        host = self._connection.fileno()
        return Watch(room.first, streams, self._walls, limits, signs=signs, host=host)

    def _run(self, request: dict[str, Any]) -> None:
        room = self._enter(request)
        streams = Streams(request.pop("inputs")[0], request["output_limit"])
        room.tell(RUN, request, streams.theirs)
        streams.close_theirs()
        outcome, alive = _see_end(room, streams, self._watch(room, streams, request, set()))
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
                tests = tests or self._begin_tests(request)
                outcome, alive = tests.run_next(stdin)
                if not alive:
                    tests = None
                    self._leave()
                if outcome is None:
                    break
                outcomes.append(outcome)
                request["tests"] -= 1
                if outcome.exit_status:
                    break  # the host may want no more of them
            self._answer(*outcomes)
            if not request["tests"]:
                break
            frame = self._receive()
        else:
            self._confirm(frame)
        if tests is not None and not tests.end(are_left=request["tests"] > 0):
            self._leave()

    def _begin_tests(self, request: dict[str, Any]) -> "_Tests":
        room = self._enter(request)
        tests = _Tests(room, request)
        tests.watch = self._watch(room, tests.streams, request, set())
        return tests

    def _confirm(self, frame: Frame) -> None:
        """Answer the end of a conversation; what else comes instead is the host's going."""
        if frame.kind != END:
            raise _HostGoneError
        self._connection.sendall(pack(ENDED))

    def _hold_session(self, request: dict[str, Any]) -> None:
        frame = Frame(CELL, body=marshal.dumps(request.pop("piece")))
        session = _Session(self._enter(request), self._walls, request)
        watch = self._watch(session.room, session.streams, request, {session.answered})
        alive = True
        while frame.kind == CELL and alive:
            piece = marshal.loads(frame.body)  # noqa: S302 - from our host
            outcome, alive = session.run_piece(watch, *piece)
            self._answer(outcome, last=not alive)
            frame = self._receive() if alive else Frame(END)
        self._leave()
        session.close()
        if alive:
            self._confirm(frame)


class _Room:
    """A room that the zygote has made, for one program after the other.

    Args:
        zygote: The link to it.
        walls: What the room is behind.
        kind: The limits of all its programs, packed.
    """

    def __init__(self, zygote: socket.socket, walls: Walls, kind: bytes) -> None:
        self.kind = kind
        self._walls = walls
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        passing.send(zygote, kind, [theirs.fileno()])
        theirs.close()
        message, passed = passing.receive(zygote)
        if not passed:
            raise _HostGoneError  # the zygote cannot fork, or is gone: the host is to try again
        self.first, self._pidfd = int(message), passed[0]

    def tell(self, kind: bytes, request: dict[str, Any], descriptors: Sequence[int]) -> None:
        """Tell it what to run, with standard input, output, error, and more descriptors."""
        content = pack_request(request)
        files = [] if len(content) < passing.LONGEST else [file_of(content)]
        with contextlib.suppress(ConnectionError):
            message = kind if files else kind + content
            passing.send(self.link, message, [*files, *descriptors])
        for file in files:
            os.close(file)

    def told(self, kind: bytes) -> tuple[int, int, float] | None:
        """Return how a program, or a test, ended; None if nobody has told."""
        with contextlib.suppress(OSError, ValueError, struct.error):
            return unpack_end(kind, self.link.recv(1 << 8, socket.MSG_DONTWAIT))
        return None

    def kill(self) -> None:
        """Kill all of it, and wait until it is dead."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, self._walls.end_signal)
        if not _is_readable(self._pidfd):
            raise _HostGoneError  # have the zygote kill what does not end

    def close(self) -> None:
        """Kill all of it, and let go."""
        try:
            self.kill()
        finally:
            os.close(self._pidfd)
            self.link.close()


def _is_readable(descriptor: int) -> bool:
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(_PATIENCE))


class _Tests:
    """One program that runs again and again."""

    watch: Watch

    def __init__(self, room: _Room, request: dict[str, Any]) -> None:
        self._room = room
        self.streams = Streams(b"", request["output_limit"])
        room.tell(TESTS, request, self.streams.theirs)
        self.streams.close_theirs()

    def run_next(self, stdin: bytes) -> tuple[Outcome | None, bool]:
        """Run it once; also tell whether it can run again."""
        descriptor = stdin_of(stdin)
        with contextlib.suppress(ConnectionError):
            passing.send(self._room.link, TEST, [descriptor])
        os.close(descriptor)
        outcome, alive = _see_end(self._room, self.streams, self.watch, TEST)
        if not alive:
            self.streams.close()
        return outcome, alive

    def end(self, *, are_left: bool) -> bool:
        """End it; tell whether its room can be used again."""
        self.streams.close()
        with contextlib.suppress(OSError):
            for _ in range(2 if are_left else 0):
                self._room.link.send(OVER)
        return _is_readable(self._room.link.fileno()) and self._room.told(END) is not None


def _see_end(
    room: _Room, streams: Streams, watch: Watch, kind: bytes = END
) -> tuple[Outcome | None, bool]:
    """Watch a program to its end; also tell whether its room is there for another one."""
    start = time.monotonic()
    watch.peak = 0
    limit = watch.wait(start + watch.limits["timeout"])
    return _sum_up(room, streams, watch, limit, start, kind)


def _sum_up(
    room: _Room, streams: Streams, watch: Watch, limit: str, start: float, kind: bytes = END
) -> tuple[Outcome | None, bool]:
    """Return what became of a program, and whether its room is there for another one."""
    if limit == HOST_GONE:
        raise _HostGoneError
    if limit:
        watch.look()
        room.kill()
    end = None if limit else room.told(kind)
    if end is None and not limit:
        return None, False
    duration = time.monotonic() - start
    if streams.drain(streams.open if limit else watch.ready) and not limit:
        limit = "output"
    status, peak, seconds = end or _UNKNOWN
    end = status, max(peak, watch.peak), seconds
    outcome = outcome_of(end, limit, duration, streams.take(), watch.limits["cpu_time"])
    return outcome, not limit


class _Session:
    """One process that runs one piece after the other; in between all of it stands still."""

    def __init__(self, room: _Room, walls: Walls, request: dict[str, Any]) -> None:
        self._walls = walls
        self.streams = Streams(b"", request["output_limit"])
        pieces, self._ask = os.pipe()
        self.answered, answers = os.pipe()
        for descriptor in (self._ask, self.answered):
            os.set_blocking(descriptor, False)
        self.room = room
        room.tell(SESSION, request, [*self.streams.theirs, pieces, answers])
        self.streams.close_theirs()
        os.close(pieces)
        os.close(answers)

    def run_piece(self, watch: Watch, source: bytes, seconds: float) -> tuple[Outcome | None, bool]:
        """Run a piece; also tell whether there can be another one."""
        start = time.monotonic()
        self._walls.signal_all(self.room.first, signal.SIGCONT)
        question = len(source).to_bytes(4, "big") + source
        asked = _write_until(start + seconds, self._ask, question)
        limit = watch.wait(start + seconds) if asked else "wall_time"
        status = None if limit else self._status()
        if status is None:
            if not limit:  # it has closed its end, as it was ended or goes on without
                watch.forget(self.answered)
                limit = watch.wait(start + seconds)
            return _sum_up(self.room, self.streams, watch, limit, start)[0], False
        self._walls.signal_all(self.room.first, signal.SIGSTOP)
        limit = "output" if self.streams.drain(self.streams.open) else watch.look()
        if limit:
            return _sum_up(self.room, self.streams, watch, limit, start)[0], False
        duration = time.monotonic() - start
        return Outcome(status, "", duration, watch.peak, *self.streams.take()), True

    def _status(self) -> int | None:
        """Return the exit status of the piece that has run, None if there was no end to it."""
        with contextlib.suppress(BlockingIOError):
            said = os.read(self.answered, 64).split()
            return int(said[0]) & 0xFF if said and said[0].isdigit() else None
        return None

    def close(self) -> None:
        """Let go of it, once it is dead."""
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
