"""Machines: small computers with a file system, processes and a shell of their own.

A sandbox runs a program and forgets it; a machine keeps what was done to it. The protocols are
here; plugins bring the providers. Environments ask for one by id (``make_machine("local")``).
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

from gem_core.errors import ConfigError
from gem_core.resolve import configured, resolve
from gem_core.specs import Kind, Spec
from gem_workers.sandbox import Execution

__all__ = [
    "MACHINES",
    "FileChange",
    "ForesightedProvider",
    "Machine",
    "MachineProvider",
    "MachineSnapshot",
    "MachineSpec",
    "Outlook",
    "Shell",
    "ShellResult",
    "check_path",
    "make_machine",
    "make_machine_provider",
]

MACHINES: Kind[Spec] = Kind(
    id="machines",
    name="machine",
    description="providers of machines",
    group="machine",
    check="gem_workers.testing:check_registered_machine",
)
"""Entry points return a ``MachineProvider``."""
_LIMITS = ("cpus", "memory", "disk", "processes", "build_timeout", "health_timeout")


@dataclass(frozen=True, kw_only=True)
class MachineSpec:
    """The initial content of a machine, and its limits.

    Args:
        image: The root file system: a folder of the host, or the name of an image that the
            provider knows; empty for the provider's default.
        build: A folder with a Dockerfile to build the image from; empty for none.
        build_timeout: Seconds of wall time that building may take; a provider may be unable to
            limit them.
        files: Files to create: absolute path to content.
        workdir: The directory in which commands start; it is created. Empty for the image's own;
            the machine's ``spec`` then has that one.
        env: Environment variables.
        user: The user that runs commands, unless they say another. Empty for the image's own; the
            machine's ``spec`` then has that one.
        cpus: Processors that the machine may use; a provider may be unable to limit them.
        memory: Bytes of memory of all processes.
        disk: Bytes that may be written.
        processes: The number of processes and threads that may exist at the same time.
        network: ``none``, or ``host`` for the network of the host.
        healthcheck: A command that must succeed before the machine is used; it may wait until it
            does. Empty for none.
        health_timeout: Seconds that the health check may take.

    Raises:
        ConfigError: A limit is not above 0, a path is not absolute, or a value is not known.
    """

    image: str = ""
    build: str = ""
    build_timeout: float = 600.0
    files: Mapping[str, bytes] = field(default_factory=dict)
    workdir: str = "/root"
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = "root"
    cpus: float = 1.0
    memory: int = 2 << 30
    disk: int = 1 << 30
    processes: int = 512
    network: Literal["none", "host"] = "none"
    healthcheck: str = ""
    health_timeout: float = 60.0

    def __post_init__(self) -> None:
        for name in _LIMITS:
            value = getattr(self, name)
            if not value > 0:
                raise ConfigError(f"{name} must be above 0; got {value!r}.")
        if self.network not in {"none", "host"}:
            raise ConfigError(f"network must be 'none' or 'host'; got {self.network!r}.")
        if self.image and self.build:
            raise ConfigError(f"Give image or build, not both: {self.image!r}, {self.build!r}.")
        for path in (self.workdir or "/", *self.files):
            check_path(path)

    def settled(self, *, workdir: str, user: str) -> "MachineSpec":
        """Return the spec with an image's own directory and user where it has none itself."""
        if self.workdir and self.user:
            return self
        return replace(self, workdir=self.workdir or workdir, user=self.user or user)


def check_path(path: str) -> None:
    """Raise ``ConfigError`` unless a path of a machine is absolute, without ``..``."""
    pure = PurePosixPath(path)
    if not pure.is_absolute() or ".." in pure.parts or "\0" in path or not _has_bytes(path):
        raise ConfigError(
            f"A path of a machine is absolute, has no '..' and no half characters; got {path!r}."
        )


def _has_bytes(path: str) -> bool:
    """Return whether a text stands for bytes: half of a pair of surrogates does not."""
    try:
        return bool(os.fsencode(path))
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True)
class MachineSnapshot:
    """The state of a machine: its files, and the state of its shell.

    Args:
        provider: The id of the provider; snapshots of one cannot be restored by another.
        data: The state.
        lost: Command lines of the processes that were running; they do not run on in the copy.
        image: What tells the image that the files were written over from what is built of the same
            folder later; empty if the provider does not know.
    """

    provider: str
    data: bytes
    lost: tuple[str, ...] = ()
    image: str = ""


@dataclass(frozen=True)
class FileChange:
    """A path of a machine that is not as in its image.

    Args:
        path: The path.
        kind: What is there now. A folder is listed if it is new, if its owner or mode has changed,
            and if something below it has; ``replaced`` is one that hides the folder of the image.
        in_image: Whether the image has this path.
        target: Where a link leads, as it is written; empty for all but links.
        size: The bytes of a regular file; 0 for all but files.
        mode: The permissions of a file or folder, such as ``0o644``; 0 for all others.
    """

    path: str
    kind: Literal["file", "folder", "replaced", "link", "deleted", "other"]
    in_image: bool
    target: str = ""
    size: int = 0
    mode: int = 0


@dataclass(frozen=True)
class ShellResult:
    """The answer of a shell.

    Args:
        text: What was written to standard output and standard error since the last answer, in
            order; bytes that are not UTF-8 are replaced.
        exit_status: The exit status of the command; None while it is still running.
        directory: The shell's directory.
        left_out: Bytes left out of the middle of ``text``, which had more than the limit.
    """

    text: str
    exit_status: int | None
    directory: str
    left_out: int = 0

    @property
    def running(self) -> bool:
        """Whether the command is still running."""
        return self.exit_status is None


@runtime_checkable
class Shell(Protocol):
    """One ``bash``: its directory, variables, functions and jobs stay from command to command."""

    def send(self, text: str, *, timeout: float = 60.0, output_limit: int = 1 << 16) -> ShellResult:
        """Run a command; while one is still running, write to its standard input instead.

        Returns when the command ends. One that ends the shell itself (``exit``) gives a new shell
        in the working directory next time. A command that breaks its shell, or removes what a new
        shell needs, raises no error: the text then says that no shell can be started.

        Args:
            text: The command, of any number of lines; or the input, which is sent as it is. Empty
                text waits for the running command, or does nothing.
            timeout: Seconds to wait; then the result says that the command is still running.
            output_limit: Bytes of output to keep, half of them from its beginning and half from
                its end.

        Raises:
            MachineError: The machine is closed or has ended.
            ConfigError: The text has a zero byte.
        """

    def interrupt(self, *, timeout: float = 5.0) -> ShellResult:
        """Interrupt the running command as Ctrl-C does; kill it if it has not ended in time."""


@runtime_checkable
class Machine(Protocol):
    """A small computer. Its methods block; calls from several threads take turns."""

    spec: MachineSpec
    """What it was started with; a directory or user that was not given is the image's."""

    def run(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        user: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes = "",
        output_limit: int = 1 << 20,
    ) -> Execution:
        """Run a command in a shell of its own until it ends; what it left running goes on.

        Args:
            command: The command.
            timeout: Seconds of wall time; then it is killed, with its descendants.
            user: The user, by name or number; None for the spec's.
            cwd: The directory; None for the spec's.
            env: Further environment variables.
            stdin: Standard input.
            output_limit: Bytes of stdout, and of stderr, to keep: half of them from the beginning
                and half from the end, with a line between that says how much was left out.

        Raises:
            MachineError: The machine is closed or has ended.
        """

    def shell(self) -> Shell:
        """Return the machine's shell, which starts at its first command."""

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write a file, and create its folders.

        Raises:
            MachineError: It cannot be written; the message says why.
        """

    def read(self, path: str, *, limit: int = 1 << 26) -> bytes:
        """Return the content of a regular file.

        Raises:
            MachineError: It cannot be read, or has more than ``limit`` bytes.
        """

    def pull(self, path: str, folder: str | Path, *, limit: int = 1 << 28) -> None:
        """Copy a file or a folder of the machine into a folder of the host.

        Regular files, folders and links that stay inside are copied; owners are not.

        Raises:
            MachineError: It does not exist, has more than ``limit`` bytes, or cannot be written to
                the host, as its folders are too deep.
        """

    def snapshot(self, *, keep: Callable[[FileChange], bool] | None = None) -> MachineSnapshot:
        """Return the state, from which ``restore`` and ``MachineProvider.start`` go on.

        Args:
            keep: Called for each change of files; where it returns False, the path is as in the
                image in machines that go on from the snapshot. The state of the shell is then left
                out. None to keep everything.

        Raises:
            MachineError: The files that stay are too large, or cannot be read.
        """

    def restore(self, snapshot: MachineSnapshot) -> None:
        """End all processes and return to the state of a snapshot.

        Raises:
            SnapshotError: This is not a snapshot of such a machine; nothing has changed.
        """

    def fork(self) -> Self:
        """Return another machine in the same state, without the running processes."""

    def processes(self) -> list[str]:
        """Return the command lines of the processes that run, the shell's own left out."""

    def kill_all(self) -> None:
        """End all processes, also the shell's."""

    def close(self) -> None:
        """End all processes and drop the files; may be called twice."""


class Outlook(NamedTuple):
    """Whether machines of a spec can be had, as far as can be said before one is made.

    Args:
        state: ``runs``; ``may run`` if something stands in for another thing, or may be missing; or
            ``needs docker``, if only a container engine can make it.
        reasons: Why not ``runs``, a line each.
    """

    state: Literal["runs", "may run", "needs docker"]
    reasons: tuple[str, ...] = ()


@runtime_checkable
class ForesightedProvider(Protocol):
    """A provider that knows what it can make before it does."""

    skips_installed: bool
    """Whether commands of its machines that install what is there succeed without a network."""

    def outlook(self, spec: MachineSpec) -> Outlook:
        """Return whether machines of a spec can be had; nothing is built or started.

        Raises:
            ConfigError: The spec is malformed, or what the provider was told to use is missing.
        """

    def stand_in(self, spec: MachineSpec) -> str:
        """Return what stands in for the image of a spec; empty if it is the image itself.

        Raises:
            ConfigError: What the provider was told to use is missing.
        """


@runtime_checkable
class MachineProvider(Protocol):
    """Starts machines of one kind."""

    isolated: bool
    """Whether machines are kept away from the host's files, processes and network."""

    def prepare(self, spec: MachineSpec) -> None:
        """Prepare the shared parts of machines of a spec, such as its image; once for each content.

        Raises:
            ConfigError: The spec asks for what this provider does not have.
            MachineError: It failed.
        """

    def start(self, spec: MachineSpec, snapshot: MachineSnapshot | None = None) -> Machine:
        """Start a machine, in the state of a snapshot if one is given.

        Raises:
            ConfigError: The spec asks for what this provider does not have.
            MachineError: No machine can be started.
            SnapshotError: This is not a snapshot of such a machine.
        """

    def close(self) -> None:
        """End all machines; may be called twice."""


def make_machine_provider(provider: str | Mapping[str, Any], **kwargs: Any) -> MachineProvider:
    """Make a provider of machines, such as ``local``; see ``make_sandbox``."""
    made: MachineProvider = configured(resolve(MACHINES, provider), kwargs).make()
    return made


def make_machine(
    provider: str | Mapping[str, Any], spec: MachineSpec | None = None, **kwargs: Any
) -> Machine:
    """Start a machine; for many, make the provider once and use its ``start``.

    Args:
        provider: An id (``local``, ``docker``, ...), or a mapping with an ``id`` and parameters.
        spec: What the machine starts with, and its limits; None for the provider's default.
        kwargs: More parameters of the provider.

    Raises:
        UnknownIdError: The id is not registered.
        UnknownKwargError: A parameter that the provider does not accept.
        ConfigError: The spec asks for what the provider does not have.
        MachineError: No machine can be started.
    """
    wanted = spec or MachineSpec()
    made = make_machine_provider(provider, **kwargs)
    made.prepare(wanted)
    return made.start(wanted)
