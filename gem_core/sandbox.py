"""Sandboxes: run a program that nobody has read. Protocol only; plugins bring the implementations.

Tools and environments ask for a sandbox by id (``make_sandbox("warm")``), so that no plugin needs
another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

__all__ = ["Execution", "Limit", "Program", "Sandbox"]

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
        memory: Bytes of memory.
        output_limit: Bytes of stdout and of stderr that are kept.
    """

    source: str
    language: str = "python"
    stdin: str = ""
    arguments: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    timeout: float = 10.0
    memory: int = 1 << 30
    output_limit: int = 1 << 20


@dataclass(frozen=True)
class Execution:
    """What became of a program.

    Args:
        exit_status: As a shell gives it: 0 for success, 128 + n for an end by signal n.
        stdout: Text; bytes that are not UTF-8 are replaced.
        stderr: Likewise.
        duration: Seconds of wall time.
        peak_memory: Bytes, 0 if unknown.
        limit: The limit that ended it, None if none did.
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

    def run_tests(self, program: Program, inputs: Sequence[str]) -> list[Execution]:
        """Run the program once for each standard input, each in a fresh process."""

    async def arun(self, program: Program) -> Execution:
        """``run`` for asynchronous callers."""

    async def arun_tests(self, program: Program, inputs: Sequence[str]) -> list[Execution]:
        """``run_tests`` for asynchronous callers."""

    def close(self) -> None:
        """End everything that runs; may be called twice."""
