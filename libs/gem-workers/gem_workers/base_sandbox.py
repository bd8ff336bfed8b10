"""Base classes for authors of sandboxes: write ``run``, and inherit the rest of the protocol."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from gem_core.errors import SandboxError, SnapshotError
from gem_core.lifetimes import Lifetime, Lock
from gem_core.records import json_value
from gem_workers.cancellation import Cancellation, cancellable, run_in_thread
from gem_workers.sandbox import Execution, Program

__all__ = ["BaseSandbox", "ReplaySession", "SessionEndedError"]

_CLOSE_SECONDS = 5.0
"""A run that has not ended this long after its session was closed is left to its own thread."""
_LOST = "[The run before ended the session: this one started from an empty state.]\n"
_ENDED = "[The session was ended while it was idle: {}. This run started from an empty state.]\n"
_NOT_RESTORED = "[The session could not be restored: this run started from an empty state.]\n"


class BaseSandbox(ABC):
    """The base class of sandboxes: write ``run``, and start it with ``self.check_open()``.

    Wait for programs in ``with gem_workers.cancellable(end)``, where ``end`` kills the program:
    then a run that is cancelled or interrupted does not wait for it.

    Extend ``close`` if there is something to end. Add a ``session`` method if the sandbox has
    sessions (see ``ReplaySession``); leave it out if it has none.
    """

    isolated: bool = False
    closed: bool = False

    @abstractmethod
    def run(self, program: Program) -> Execution:
        """Run one program."""

    def close(self) -> None:
        """Refuse to run more programs; may be called twice."""
        self.closed = True

    def check_open(self) -> None:
        """Check that the sandbox can still be used.

        Raises:
            SandboxError: It is closed.
        """
        if self.closed:
            raise SandboxError("This sandbox is closed; make another one.")

    def run_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """Run the program once for each standard input, one after another."""
        executions: list[Execution] = []
        for index, text in enumerate(inputs):
            executions.append(self.run(replace(program, stdin=text)))
            if stop is not None and stop(index, executions[-1]):
                break
        return executions

    async def arun(self, program: Program) -> Execution:
        """Call ``run`` in a thread."""
        return await run_in_thread(self.run, program)

    async def arun_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """Call ``run_tests`` in a thread."""
        return await run_in_thread(partial(self.run_tests, program, inputs, stop=stop))


class SessionEndedError(SandboxError):
    """The process of a session has ended since its last run; the message says why."""


class ReplaySession(ABC):
    """The base class of sessions: write ``start_process``, ``run_piece`` and ``end_process``.

    The session keeps the source of every piece that it has run. A snapshot is that list, and
    restoring it runs the pieces again, before the next run. Wait in ``run_piece`` for its result in
    ``with gem_workers.cancellable(end)``: then ``close`` ends it too.

    Args:
        timeout: Seconds of wall time of one run.
        release: Ends the process of a session that was dropped, or that is open when the
            interpreter ends; it must not refer to the session.
    """

    def __init__(self, *, timeout: float, release: Callable[[], object] = bool) -> None:
        self._timeout = timeout
        self._history: list[tuple[str, float]] = []
        self._lost = False
        self._running = False
        self._lock = Lock()
        self._calls: set[Cancellation] = set()
        """Of the runs that are in progress, or wait for their turn."""
        self._lifetime = Lifetime(
            self,
            _release,
            *(self._calls, self._lock, release),
            what="session",
            error=SandboxError,
        )

    @abstractmethod
    def start_process(self) -> None:
        """Start the session's process."""

    @abstractmethod
    def run_piece(self, source: str, timeout: float) -> tuple[Execution, bool]:
        """Run a piece; return its result, and whether the process can run another one.

        Raises:
            SessionEndedError: The process has been ended after its last piece, for example because
                it met a limit. This piece was not run; it then runs in a new process.
        """

    @abstractmethod
    def end_process(self) -> None:
        """End the process and remove its files."""

    def run(self, source: str, *, timeout: float | None = None) -> Execution:
        """Run a piece of Python; ``timeout`` is in seconds, None for the session's default.

        Raises:
            SandboxError: The session is closed, perhaps meanwhile, or its sandbox failed.
            ForkError: This is a fork of the process that made the session.
        """
        with self._call() as call:
            return call.run(self._run, source, self._timeout if timeout is None else timeout)

    @contextmanager
    def _call(self) -> Iterator[Cancellation]:
        """Let ``close`` end the waits of the block, which then raises ``SandboxError``."""
        import asyncio  # noqa: PLC0415 - most hosts have no event loop

        call = Cancellation()
        self._calls.add(call)
        try:
            self._lifetime.check()
            with cancellable(call.cancel):
                yield call
        except asyncio.CancelledError:
            self._lifetime.check()
            raise
        finally:
            self._calls.discard(call)

    def _run(self, source: str, seconds: float) -> Execution:
        with self._lock:
            self._lifetime.check()
            note = self._restore_process()
            try:
                execution = self._run_piece(source, seconds)
            except SessionEndedError as reason:
                note, self._lost = _ENDED.format(reason), False
                execution = self._run_piece(source, seconds)
            return replace(execution, stderr=note + execution.stderr) if note else execution

    async def arun(
        self,
        source: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's, not the caller's
    ) -> Execution:
        """Call ``run`` in a thread."""
        return await run_in_thread(partial(self.run, source, timeout=timeout))

    def _restore_process(self) -> str:
        """Replay the history if there is no process; return a note for the next run's stderr."""
        note, self._lost = (_LOST if self._lost else ""), False
        if self._running:
            return note
        pieces, self._history = self._history, []
        for source, timeout in pieces:
            self._run_piece(source, timeout)
            if not self._running:
                self._lost = False
                return _NOT_RESTORED
        return note

    def _run_piece(self, source: str, timeout: float) -> Execution:
        if not self._running:
            self.start_process()
            self._running = True
        try:
            execution, alive = self.run_piece(source, timeout)
        except BaseException:
            self._drop(lost=True)
            raise
        if alive:
            self._history.append((source, timeout))
        else:
            self._drop(lost=True)
        return execution

    def _drop(self, *, lost: bool) -> None:
        if self._running:
            self._running = False
            self.end_process()
        self._history = []
        self._lost = lost

    def snapshot(self) -> bytes:
        """Return the pieces that have run since the session was last empty, as JSON.

        Raises:
            SandboxError: The session is closed.
            ForkError: This is a fork of the process that made the session.
        """
        self._lifetime.check()
        with self._lock:
            return json.dumps({"ran": self._history, "lost": self._lost}).encode()

    def restore(self, snapshot: bytes) -> None:
        """Start from an empty state, and run the snapshot's pieces before the next run.

        Raises:
            SnapshotError: This is not a snapshot of a session; nothing has changed.
            SandboxError: The session is closed.
            ForkError: This is a fork of the process that made the session.
        """
        self._lifetime.check()
        try:
            state = json_value(snapshot)
            history = [(str(source), float(timeout)) for source, timeout in state["ran"]]
            lost = bool(state["lost"])
        except (ValueError, TypeError, KeyError) as error:
            raise SnapshotError(f"This is not a snapshot of a session: {error!r}") from error
        with self._lock:
            self._drop(lost=lost)
            self._history = history

    def close(self) -> None:
        """End the process and remove its files; may be called twice.

        A run of another thread ends with ``SandboxError``; one that does not end within 5 seconds
        is left to its thread. In a fork, nothing happens.
        """
        if self._lifetime.is_open:
            self._lifetime.end()
            _locked(self._lock, partial(self._drop, lost=False))


def _release(calls: Iterable[Cancellation], lock: Lock, end_process: Callable[[], object]) -> None:
    for call in list(calls):
        call.cancel()
    _locked(lock, end_process)


def _locked(lock: Lock, act: Callable[[], object]) -> None:
    """Call a function under a lock, unless another thread keeps the lock."""
    if lock.acquire(timeout=_CLOSE_SECONDS):
        try:
            act()
        finally:
            lock.release()
