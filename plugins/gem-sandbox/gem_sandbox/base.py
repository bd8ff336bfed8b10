"""What sandboxes have in common: many runs from one, asynchronous twins, sessions by replay."""

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

from gem_core.errors import ConfigError, SandboxError, SnapshotError
from gem_core.sandbox import Execution, Program, SandboxSession

__all__ = ["BaseSandbox", "ReplaySession", "check_limits"]

_LOST = "[The session ended with the run before: this one began with nothing.]\n"
_NOT_RESTORED = "[The session could not be restored: this run began with nothing.]\n"


def check_limits(program: Program) -> None:
    """Check that a program can be run within its limits.

    Raises:
        ConfigError: One of them is not above 0.
    """
    for name in ("timeout", "memory", "output_limit", "processes", "file_size"):
        if not getattr(program, name) > 0:
            raise ConfigError(f"{name} must be above 0; got {getattr(program, name)!r}.")


class BaseSandbox(ABC):
    """Base of sandboxes: write ``run``, ``session`` and ``close``."""

    isolated: bool = False

    @abstractmethod
    def run(self, program: Program) -> Execution:
        """Run one program."""

    @abstractmethod
    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a session of its own."""

    @abstractmethod
    def close(self) -> None:
        """End everything that runs; may be called twice."""

    def run_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """Run the program once for each standard input, one after the other."""
        executions: list[Execution] = []
        for index, text in enumerate(inputs):
            executions.append(self.run(replace(program, stdin=text)))
            if stop is not None and stop(index, executions[-1]):
                break
        return executions

    async def arun(self, program: Program) -> Execution:
        """``run`` in a thread."""
        return await asyncio.to_thread(self.run, program)

    async def arun_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """``run_tests`` in a thread."""
        return await asyncio.to_thread(self.run_tests, program, inputs, stop=stop)


class ReplaySession(ABC):
    """Base of sessions: write ``_begin``, ``_cell`` and ``_end``.

    What has run is kept as source text; a snapshot is that text, and restoring runs it again.

    Args:
        timeout: Seconds of wall time of one run.
    """

    def __init__(self, *, timeout: float) -> None:
        self._timeout = timeout
        self._history: list[tuple[str, float]] = []
        self._lost = False
        self._running = False
        self._closed = False
        self._lock = threading.RLock()

    @abstractmethod
    def _begin(self) -> None:
        """Start the session's process."""

    @abstractmethod
    def _cell(self, source: str, timeout: float) -> tuple[Execution, bool]:
        """Run a piece; also say whether the process is there for the next one."""

    @abstractmethod
    def _end(self) -> None:
        """End the process and remove its files."""

    def run(self, source: str, *, timeout: float | None = None) -> Execution:
        """Run a piece of Python.

        Raises:
            SandboxError: The session is closed, or its sandbox has failed.
        """
        with self._lock:
            if self._closed:
                raise SandboxError("This session is closed; ask its sandbox for another one.")
            note = self._ready()
            seconds = self._timeout if timeout is None else timeout
            execution = self._one(source, seconds)
            return replace(execution, stderr=note + execution.stderr) if note else execution

    async def arun(
        self,
        source: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's, not the caller's
    ) -> Execution:
        """``run`` in a thread."""
        return await asyncio.to_thread(self.run, source, timeout=timeout)

    def _ready(self) -> str:
        """Have a process in the session's state; return what the next run is to be told."""
        note, self._lost = (_LOST if self._lost else ""), False
        if self._running:
            return note
        pieces, self._history = self._history, []
        for source, timeout in pieces:
            self._one(source, timeout)
            if not self._running:
                self._lost = False
                return _NOT_RESTORED
        return note

    def _one(self, source: str, timeout: float) -> Execution:
        if not self._running:
            self._begin()
            self._running = True
        try:
            execution, alive = self._cell(source, timeout)
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
            self._end()
        self._history = []
        self._lost = lost

    def snapshot(self) -> bytes:
        """Return what has run since the session was last empty, as JSON."""
        with self._lock:
            return json.dumps({"ran": self._history, "lost": self._lost}).encode()

    def restore(self, snapshot: bytes) -> None:
        """Begin again with nothing, and run what the snapshot says, before the next run.

        Raises:
            SnapshotError: It is no snapshot of a session; nothing has changed.
        """
        try:
            state = json.loads(snapshot)
            history = [(str(source), float(timeout)) for source, timeout in state["ran"]]
            lost = bool(state["lost"])
        except (ValueError, TypeError, KeyError) as error:
            raise SnapshotError(f"This is not a snapshot of a session: {error!r}") from error
        with self._lock:
            self._drop(lost=lost)
            self._history = history

    def close(self) -> None:
        """End the process and remove its files; may be called twice."""
        with self._lock:
            self._closed = True
            self._drop(lost=False)
