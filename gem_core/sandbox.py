"""Sandboxes: run a program that nobody has read. Protocol only; plugins bring the implementations.

Tools and environments ask for a sandbox by id (``make_sandbox("warm")``), so that no plugin needs
another one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

__all__ = ["Execution", "Limit", "Program", "Sandbox", "SandboxSession"]

Limit = Literal["wall_time", "cpu_time", "memory", "processes", "output", "file_size"]


@dataclass(frozen=True)
class Program:
    """What to run, and how much it may use.

    Args:
        source: Source text.
        language: What it is written in; ``python`` everywhere, others where a sandbox has them.
        stdin: Text for its standard input; empty means an input that is at its end.
        arguments: What follows the program's name in ``argv``.
        files: Relative path to content, laid in its working directory.
        timeout: Seconds of wall time.
        cpu_time: Seconds of CPU time of each process; None for as many as ``timeout``.
        memory: Bytes of memory.
        output_limit: Bytes of stdout and of stderr that are kept; a program that writes more to
            one of them is ended.
        processes: How many processes and threads it may have at a time.
        file_size: Bytes of one file that it writes; a write beyond fails.
        supply_names: Make common names that it uses without importing them (``math``, ``deque``,
            ``List``, ``np``) available, where the sandbox can; nothing runs twice.
    """

    source: str
    language: str = "python"
    stdin: str = ""
    arguments: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    timeout: float = 10.0
    cpu_time: float | None = None
    memory: int = 1 << 30
    output_limit: int = 1 << 20
    processes: int = 64
    file_size: int = 1 << 26
    supply_names: bool = False


@dataclass(frozen=True)
class Execution:
    """What became of a program.

    Args:
        exit_status: As a shell gives it: 0 for success, 128 + n for an end by signal n.
        stdout: Text; bytes that are not UTF-8 are replaced.
        stderr: Likewise.
        duration: Seconds of wall time.
        peak_memory: Bytes, 0 if unknown.
        limit: The limit that ended it, None if none did. A program that ends with a
            ``MemoryError`` of its own has met ``memory``.
    """

    exit_status: int
    stdout: str = ""
    stderr: str = ""
    duration: float = 0.0
    peak_memory: int = 0
    limit: Limit | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with status 0."""
        return self.exit_status == 0 and self.limit is None


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs apart from this process and from one another."""

    isolated: bool
    """Whether programs are kept from the host's files, processes and network."""

    def run(self, program: Program) -> Execution:
        """Run one program to its end or its limit; a program's failure is never raised."""

    def run_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """Run the program once for each standard input, each in a fresh process.

        Args:
            program: The program; its own ``stdin`` is not used, its limits are those of each run.
            inputs: One text for each run. What a run should print stays outside.
            stop: Called with a run's index and what became of it, in order, one call at a time
                though not always from the same thread; once it returns True no further run
                begins, and the list ends with that run.
        """

    async def arun(self, program: Program) -> Execution:
        """``run`` for asynchronous callers."""

    async def arun_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """``run_tests`` for asynchronous callers."""

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> "SandboxSession":
        """Return a session of its own; nothing starts before its first run.

        Args:
            timeout: Seconds of wall time of one run.
            memory: Bytes of memory of the whole session.
            output_limit: Bytes of stdout and of stderr of one run that are kept.
        """

    def close(self) -> None:
        """End everything that runs; may be called twice."""


@runtime_checkable
class SandboxSession(Protocol):
    """Runs one piece of Python after another, like the cells of a notebook.

    Variables and files stay, also after an exception or ``sys.exit``. A run that meets a limit
    ends the session's process: the next run starts with nothing, and says so in its stderr.
    """

    def run(self, source: str, *, timeout: float | None = None) -> Execution:
        """Run a piece of Python; its failure is never raised.

        Args:
            source: Source text.
            timeout: Seconds of wall time; None for the session's.
        """

    async def arun(
        self,
        source: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's, not the caller's
    ) -> Execution:
        """``run`` for asynchronous callers."""

    def snapshot(self) -> bytes:
        """Return what has run since the session was last empty."""

    def restore(self, snapshot: bytes) -> None:
        """Begin again with nothing, and run what the snapshot says, before the next run.

        Raises:
            SnapshotError: It is no snapshot of a session; nothing has changed.
        """

    def close(self) -> None:
        """End its process and remove its files; may be called twice."""
