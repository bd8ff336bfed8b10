"""The host's side: a ``Launcher`` starts and ends processes; a ``Worker`` is one of them.

Workers are forks of a template process, a fresh interpreter that has imported the modules. The
host itself is never forked: it may have threads, and a fork of a process with threads may hang.
"""

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO, BinaryIO

from gem_core.errors import ClosedError, EntryPointError, WorkerDiedError
from gem_core.lifetimes import Lock
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
"""Longest time that a template may take to import its modules."""
_CLOSE_SECONDS = 2.0
_START = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host handles Ctrl-C and closes this process
sys.path[:] = {path!r}
from gem_workers.template import run
run({descriptor}, serve={serve!r}, preload={preload!r}, memory_mib={memory_mib!r})
"""


class Worker:
    """The host's handle of a worker process: a socket.

    Callers either make requests that have one answer each (``ask``), or ``send`` frames and read
    them from ``open_stream`` in any order.
    """

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
        """Send the request of the next ``ask`` early, from any thread, unless it is too long."""
        if len(request) <= CHUNK:
            self._busy = True
            with contextlib.suppress(OSError):  # `ask` will notice
                self._connection.settimeout(None)
                self._connection.sendall(request)
                self._is_asked = True

    def ask(self, request: bytes, deadline: float | None) -> Frame:
        """Send a request, unless ``ask_ahead`` has, and wait for its outcome."""
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
        """Do the same as ``ask`` without blocking the running event loop."""
        import asyncio  # noqa: PLC0415 - most hosts have no event loop

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
        # An idle worker may have died long ago; a fresh one was killed by this request.
        return Frame(DIED if begun or self._fresh else NOT_BEGUN, last=True)

    def send(self, frame: bytes) -> None:
        """Send a frame; if the worker is dead it is lost, and the stream ends with ``DIED``."""
        with contextlib.suppress(OSError):
            self._connection.sendall(frame)

    def open_stream(self) -> BinaryIO:
        """Return the stream of the worker's frames, for ``read_frame``; the caller closes it."""
        self._connection.settimeout(None)
        return self._connection.makefile("rb")

    def finish(self) -> None:
        """Send no more frames: the worker reads the end of its stream, cleans up and exits."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        """Hang up, so that the template kills the process; call from the thread that asks."""
        self._busy = False
        self.hang_up()

    def hang_up(self) -> None:
        """Hang up from any thread; a thread that waits for an answer gets ``DIED``."""
        _shut_down(self._connection)
        if not self._busy:
            self._connection.close()

    def abandon(self) -> None:
        """Close the socket without ending the process: in a fork of the host."""
        self._connection.close()


class Launcher:
    """Starts workers, and the template when the first worker is needed or after it has died.

    Args:
        preload: Names of modules that the template imports.
        memory_mib: Most memory that each worker may allocate, in MiB; None for no limit.
        serve: Entry point of the function that workers run; see ``template.run``.
        output: File descriptor for what the processes print; by default it is discarded.
    """

    def __init__(
        self,
        *,
        preload: Sequence[str],
        memory_mib: int | None,
        serve: str = "gem_workers.serving:serve",
        output: int = subprocess.DEVNULL,
    ) -> None:
        self._serve = serve
        self._output = output
        self._preload = tuple(preload)
        self._memory_mib = memory_mib
        self._refusal: str | None = None
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._workers: set[Worker] = set()

    @property
    def count(self) -> int:
        """The number of workers that were started and not ended."""
        return len(self._workers)

    def start_worker(self) -> Worker:
        """Start a worker and wait until it is ready.

        Raises:
            EntryPointError: A module cannot be imported.
            WorkerDiedError: The template or the worker died while it started.
        """
        for _ in range(_ATTEMPTS):
            worker = self.ask_for_worker()
            if worker is None:
                continue
            if worker.wait_until_ready().kind == READY:
                return worker
            self.end_worker(worker)
        raise WorkerDiedError(
            f"A worker process died while it started, {_ATTEMPTS} times in a row. Check the limits "
            f"on processes and memory (ulimit -a)."
        )

    def ask_for_worker(self) -> Worker | None:
        """Let the template fork a worker without waiting for it; None if the template is dead."""
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
        """Start a template with a control socket; override to start another kind."""
        start = _START.format(
            path=sys.path,
            descriptor=theirs.fileno(),
            serve=self._serve,
            preload=self._preload,
            memory_mib=self._memory_mib,
        )
        return subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", start],
            pass_fds=[theirs.fileno()],
            # Sets of strings have the same order in every worker, so results are repeatable.
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=stderr,
            start_new_session=True,
        )

    def _wait_for_template(self, control: socket.socket, stderr: IO[bytes]) -> None:
        if self._closed:
            raise ClosedError("This pool of workers is closed.")
        control.settimeout(_START_SECONDS)
        frame = _first_frame(control)
        if frame.kind == RAISED:
            summary, trace = pickle.loads(frame.body)  # noqa: S301 - from our own process
            self._refusal = f"A pool of workers cannot start: {summary}"
            error = EntryPointError(self._refusal)
            error.add_note(trace)
            raise error
        if frame.kind != READY:
            stderr.seek(0)
            said = stderr.read()[-2000:].decode(errors="replace").strip()
            raise WorkerDiedError(
                f"The process that imports {self._preload} for a pool of workers "
                + ("took too long." if frame.kind == LATE else f"died: {said or 'no message'}")
            )

    def _end_template(self) -> None:
        """End the template, and with it all workers."""
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
        """Kill a worker; call from the thread that asks it."""
        self._workers.discard(worker)
        worker.end()

    def close(self) -> None:
        """End all processes; may be called twice."""
        self._closed = True
        process = self._process
        if process is not None and not self._ready:
            process.kill()  # the thread that waits for its start holds the lock
        with self._lock:
            self._end_template()
            workers, self._workers = self._workers, set()
        for worker in workers:
            worker.hang_up()

    def forget(self) -> None:
        """Start over in a fork of the host, and leave the processes to the parent."""
        for worker in self._workers:
            worker.abandon()
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.returncode = 0  # not a child of this process: nothing to wait for
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
    """End the stream; closing is not enough, as a fork of the host may hold the socket too."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _left(end: float | None) -> float | None:
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
