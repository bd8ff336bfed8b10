"""The host's side of the processes: a ``Launcher`` starts and ends them, a ``Worker`` is asked."""

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO

from gem_core.errors import EntryPointError, GemError, WorkerDiedError
from gem_workers.frames import (
    CHUNK,
    DIED,
    LATE,
    NOT_BEGUN,
    RAISED,
    READY,
    Frame,
    FrameReader,
)

__all__ = ["Launcher", "Worker"]

_ATTEMPTS = 3
_START_SECONDS = 120.0
"""A template that has not imported its modules after this time is given up."""
_CLOSE_SECONDS = 2.0
_START = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host, which closes us
sys.path[:] = {path!r}
from gem_workers.template import run
run({descriptor}, preload={preload!r}, memory_mib={memory_mib!r})
"""


class Worker:
    """A worker process, as its host sees it: one socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._fresh = True
        self._busy = True
        self._is_asked = False

    def wait_until_ready(self) -> Frame:
        """Return the worker's first frame."""
        self._connection.settimeout(_START_SECONDS)
        frame = _first_frame(self._connection)
        self._busy = False
        return frame

    def ask_ahead(self, request: bytes) -> None:
        """Send a request for who will ask it, from any thread, unless it is so long as to wait."""
        if len(request) <= CHUNK:
            self._busy = True
            with contextlib.suppress(OSError):  # whoever asks will see
                self._connection.settimeout(None)
                self._connection.sendall(request)
                self._is_asked = True

    def ask(self, request: bytes, deadline: float | None) -> Frame:
        """Send a request, unless that was done ahead, and wait for what becomes of it."""
        connection, reader = self._connection, FrameReader()
        begun, self._is_asked = self._is_asked, False
        end = time.monotonic() + deadline if deadline is not None else None
        self._busy = True
        try:
            if not begun:
                connection.settimeout(deadline)
                connection.sendall(request)
                begun = True
            frame = None
            while frame is None:
                connection.settimeout(_left(end))
                frame = reader.feed(connection.recv(CHUNK))
        except OSError as error:
            frame = self._failure(error, begun=begun)
        self._busy = self._fresh = False
        return frame

    async def ask_async(self, request: bytes, deadline: float | None) -> Frame:
        """Do as ``ask`` does, without blocking the running event loop."""
        import asyncio  # noqa: PLC0415 - only those who have it pay for it

        loop = asyncio.get_running_loop()
        connection, reader = self._connection, FrameReader()
        begun, self._is_asked = self._is_asked, False
        self._busy = True
        try:
            connection.setblocking(False)
            async with asyncio.timeout(deadline):
                if not begun:
                    await loop.sock_sendall(connection, request)
                    begun = True
                frame = None
                while frame is None:
                    frame = reader.feed(await loop.sock_recv(connection, CHUNK))
        except OSError as error:
            frame = self._failure(error, begun=begun)
        self._busy = self._fresh = False
        return frame

    def _failure(self, error: OSError, *, begun: bool) -> Frame:
        if isinstance(error, TimeoutError):
            return Frame(LATE, last=True)
        # One that was idle may have died long ago; a fresh one died of what it was sent.
        return Frame(DIED if begun or self._fresh else NOT_BEGUN, last=True)

    def end(self) -> None:
        """Hang up, upon which the template kills the process; call from the asking thread."""
        self._busy = False
        self.hang_up()

    def hang_up(self) -> None:
        """Hang up from any thread: one that waits for an answer reads the end of the stream."""
        _shut_down(self._connection)
        if not self._busy:
            self._connection.close()

    def abandon(self) -> None:
        """Close the socket and leave the process alone: in a fork of the host."""
        self._connection.close()


class Launcher:
    """Starts the template when the first worker is wanted, and again if it dies.

    Args:
        preload: Names of modules that the template imports.
        memory_mib: What each worker may allocate, in MiB; None for no limit.
    """

    def __init__(self, *, preload: Sequence[str], memory_mib: int | None) -> None:
        self._preload = tuple(preload)
        self._memory_mib = memory_mib
        self._refusal: str | None = None
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._workers: set[Worker] = set()

    @property
    def count(self) -> int:
        """How many workers have been started and not ended."""
        return len(self._workers)

    def start_worker(self) -> Worker:
        """Start a worker and wait until it can be asked.

        Raises:
            EntryPointError: A module cannot be imported.
            WorkerDiedError: The template or the worker dies at the start.
        """
        for _ in range(_ATTEMPTS):
            worker = self.ask_for_worker()
            if worker is None:
                continue
            if worker.wait_until_ready().kind == READY:
                return worker
            self.end_worker(worker)
        raise WorkerDiedError(
            f"A worker process died at its start, {_ATTEMPTS} times in a row. Are processes or "
            f"memory limited too much?"
        )

    def ask_for_worker(self) -> Worker | None:
        """Have the template fork, and do not wait; None if the template turns out to be dead."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._end_template()
            control = self._control or self._start_template()
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(control, [b"F"], [theirs.fileno()])
                except OSError:
                    ours.close()
                    self._end_template()
                    return None
            worker = Worker(ours)
            self._workers.add(worker)
            return worker

    def _start_template(self) -> socket.socket:
        if self._refusal is not None:
            raise EntryPointError(self._refusal)
        self._control, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as stderr:
            try:
                self._process = self.spawn(theirs, stderr)
                theirs.close()
                self._wait_for_template(self._control, stderr)
            except BaseException:
                self._end_template()
                raise
        self._ready = True
        return self._control

    def spawn(self, theirs: socket.socket, stderr: IO[bytes]) -> "subprocess.Popen[bytes]":
        """Start a template that is controlled over a socket; override to start another kind."""
        start = _START.format(
            path=sys.path,
            descriptor=theirs.fileno(),
            preload=self._preload,
            memory_mib=self._memory_mib,
        )
        return subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", start],
            pass_fds=[theirs.fileno()],
            # Sets of texts come in the same order in every worker, so results can be repeated.
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )

    def _wait_for_template(self, control: socket.socket, stderr: IO[bytes]) -> None:
        if self._closed:
            raise GemError("This pool of workers is closed.")
        control.settimeout(_START_SECONDS)
        frame = _first_frame(control)
        if frame.kind == RAISED:
            summary, trace = pickle.loads(frame.body)  # noqa: S301 - from our own process
            self._refusal = f"A pool of workers cannot start, as {summary}"
            error = EntryPointError(self._refusal)
            error.add_note(trace)
            raise error
        if frame.kind != READY:
            stderr.seek(0)
            said = stderr.read()[-2000:].decode(errors="replace").strip()
            raise WorkerDiedError(
                f"The process that was to import {self._preload} for a pool of workers "
                + ("took too long." if frame.kind == LATE else f"died: {said or 'no message'}")
            )

    def _end_template(self) -> None:
        """End the template, and so all workers."""
        if self._control is not None:
            _shut_down(self._control)
            self._control.close()
        if self._process is not None:
            if not self._ready:
                self._process.kill()
            try:
                self._process.wait(_CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process, self._control, self._ready = None, None, False

    def end_worker(self, worker: Worker) -> None:
        """Kill a worker, from the thread that asked it."""
        self._workers.discard(worker)
        worker.end()

    def close(self) -> None:
        """End all processes; may be called twice."""
        self._closed = True
        process = self._process
        if process is not None and not self._ready:
            process.kill()  # whoever waits for its start holds the lock
        with self._lock:
            self._end_template()
            workers, self._workers = self._workers, set()
        for worker in workers:
            worker.hang_up()

    def forget(self) -> None:
        """Start anew in a fork of the host, and leave the processes to the parent."""
        for worker in self._workers:
            worker.abandon()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.returncode = 0  # not our child: nothing to wait for or to warn of
        self._reset()


def _first_frame(connection: socket.socket) -> Frame:
    reader = FrameReader()
    try:
        while (frame := reader.feed(connection.recv(CHUNK))) is None:
            pass
    except TimeoutError:
        return Frame(LATE, last=True)
    except OSError:
        return Frame(DIED, last=True)
    return frame


def _shut_down(connection: socket.socket) -> None:
    """End the stream; to close is not enough, as a fork of the host may hold the socket too."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _left(end: float | None) -> float | None:
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
