"""Sandboxes run untrusted programs. The protocols are here; plugins bring the implementations.

Tools and environments ask for a sandbox by id (``make_sandbox("warm")``), so no plugin depends on
another one. Authors of sandboxes derive from ``gem_workers.BaseSandbox``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, Protocol, runtime_checkable

from gem_core.errors import ConfigError, SandboxError
from gem_core.resolve import configured, resolve
from gem_core.specs import Kind, Spec

__all__ = [
    "SANDBOXES",
    "Execution",
    "Limit",
    "Program",
    "Sandbox",
    "SandboxSession",
    "SessionSandbox",
    "make_sandbox",
    "open_session",
]

SANDBOXES: Kind[Spec] = Kind(
    id="sandboxes",
    name="sandbox",
    description="sandboxes that run programs",
    group="sandbox",
    check="gem_workers.testing:check_registered_sandbox",
)
"""Entry points return a ``Sandbox``."""
Limit = Literal["wall_time", "cpu_time", "memory", "processes", "output", "file_size"]


@dataclass(frozen=True)
class Program:
    """A program to run, and its limits.

    Args:
        source: The source text.
        language: The language of the source. Every sandbox runs ``python``; some run others.
        stdin: The text on standard input; if empty, standard input is at its end.
        arguments: Command-line arguments, ``sys.argv[1:]``.
        files: Files to create in the working directory: relative path to content.
        timeout: Seconds of wall time.
        cpu_time: Seconds of CPU time for each process; None for one more than ``timeout``.
        memory: Bytes of memory.
        output_limit: Bytes of stdout, and of stderr, to keep; a program that writes more is ended.
        processes: The number of processes and threads that may exist at the same time.
        file_size: Bytes of the largest file that the program may write.
        supply_names: Make common names that the program uses without importing them (``math``,
            ``deque``, ``List``, ``np``) available, if the sandbox supports it.

    Raises:
        ConfigError: A limit is not above 0, or a file's path is not relative.
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

    def __post_init__(self) -> None:
        for name in ("timeout", "cpu_time", "memory", "output_limit", "processes", "file_size"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be above 0; got {value!r}.")
        for name in self.files:
            path = PurePosixPath(name)
            if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
                raise ConfigError(f"A file needs a relative path without '..'; got {name!r}.")


@dataclass(frozen=True)
class Execution:
    """The result of running a program.

    Args:
        exit_status: The exit status as a shell reports it: 0 for success, 128 + n if signal n
            ended the program.
        stdout: Standard output; bytes that are not UTF-8 are replaced.
        stderr: Standard error; bytes that are not UTF-8 are replaced.
        duration: Seconds of wall time.
        peak_memory: Bytes; 0 if unknown.
        limit: The limit that ended the program, or None. A program that fails with an uncaught
            ``MemoryError`` has met ``memory``.
        cpu_time: Seconds of CPU time of the program's processes; None if unknown.
    """

    exit_status: int
    stdout: str = ""
    stderr: str = ""
    duration: float = 0.0
    peak_memory: int = 0
    limit: Limit | None = None
    cpu_time: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself with status 0."""
        return self.exit_status == 0 and self.limit is None


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs separately from this process and from one another.

    Sessions are optional: see ``SessionSandbox`` and ``open_session``.
    """

    isolated: bool
    """Whether programs are kept away from the host's files, processes and network."""

    def run(self, program: Program) -> Execution:
        """Run a program until it ends or meets a limit; a failure of the program is not raised.

        Raises:
            ConfigError: The sandbox cannot run such a program, for example its language.
            SandboxError: The sandbox is closed, or failed itself.
        """

    def run_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """Run the program once for each standard input, each time in a new process.

        Args:
            program: The program. Its ``stdin`` is ignored; its limits apply to each run.
            inputs: The standard input of each run. Expected outputs stay outside of the sandbox.
            stop: Called with the index and the result of each run, in order, one call at a time
                but not always from the same thread. After it returns True no other run starts,
                and the list ends with that run.
        """

    async def arun(self, program: Program) -> Execution:
        """Run a program without blocking the event loop; see ``run``."""

    async def arun_tests(
        self,
        program: Program,
        inputs: Sequence[str],
        *,
        stop: Callable[[int, Execution], bool] | None = None,
    ) -> list[Execution]:
        """Run a program for each input without blocking the event loop; see ``run_tests``."""

    def close(self) -> None:
        """End everything that runs; may be called twice."""


@runtime_checkable
class SandboxSession(Protocol):
    """Runs pieces of Python one after another, like the cells of a notebook.

    Variables and files stay, also after an exception or ``sys.exit``. A run that meets a limit
    ends the session's process: the next run starts from an empty state, and its stderr says so.
    """

    def run(self, source: str, *, timeout: float | None = None) -> Execution:
        """Run a piece of Python; its failure is not raised.

        Args:
            source: The source text.
            timeout: Seconds of wall time; None for the session's default.

        Raises:
            SandboxError: The session or its sandbox is closed, or the sandbox failed itself.
        """

    async def arun(
        self,
        source: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's, not the caller's
    ) -> Execution:
        """Run a piece of Python without blocking the event loop; see ``run``."""

    def snapshot(self) -> bytes:
        """Return the state of the session."""

    def restore(self, snapshot: bytes) -> None:
        """Return to the state of a snapshot, taken from this session or another one.

        Raises:
            SnapshotError: This is not a snapshot of a session; nothing has changed.
        """

    def close(self) -> None:
        """End the session's process and remove its files; may be called twice."""


@runtime_checkable
class SessionSandbox(Sandbox, Protocol):
    """A sandbox that also has sessions; a stateless service implements ``Sandbox`` alone."""

    def session(
        self, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
    ) -> SandboxSession:
        """Return a new session; its process starts at its first run.

        Args:
            timeout: Seconds of wall time of one run.
            memory: Bytes of memory of the whole session.
            output_limit: Bytes of stdout, and of stderr, to keep of one run.
        """


def open_session(
    sandbox: Sandbox, *, timeout: float = 10.0, memory: int = 1 << 30, output_limit: int = 1 << 20
) -> SandboxSession:
    """Return a new session of a sandbox; the arguments are those of ``SessionSandbox.session``.

    Raises:
        SandboxError: The sandbox has no sessions.
    """
    if not isinstance(sandbox, SessionSandbox):
        raise SandboxError(
            f"{type(sandbox).__name__} has no sessions: it runs each program separately. Use a "
            f"sandbox that has a session() method, such as 'warm', or run() with whole programs."
        )
    return sandbox.session(timeout=timeout, memory=memory, output_limit=output_limit)


def make_sandbox(sandbox: str | Mapping[str, Any], **kwargs: Any) -> Sandbox:
    """Make a sandbox.

    Args:
        sandbox: An id (``warm``, ``docker``, ...), or a mapping with an ``id`` and parameters.
        kwargs: More parameters.

    Raises:
        ConfigError: The mapping has no id.
        UnknownIdError: The id is not registered.
        UnknownKwargError: A parameter that it does not accept.
    """
    made: Sandbox = configured(resolve(SANDBOXES, sandbox), kwargs).make()
    return made
