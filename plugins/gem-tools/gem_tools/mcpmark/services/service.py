"""The place in which the tasks of an environment are done: a folder, a database, a web site.

A service sets up the initial state of a task, says how the agent's servers and the verifying
program reach it, and copies it. Each is one class in one module, registered as ``TASK_SERVICES``.
"""

import abc
import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from gem_core.errors import ConfigError, NotInstalledError
from gem_core.resolve import resolve
from gem_tools.specs import TASK_SERVICES

__all__ = ["Service", "make_service"]


class Service(abc.ABC):
    """What one environment has of a service; the environment makes it, and closes it.

    Making one is cheap: what it needs (a cluster, a site) starts with the first ``set_up``. All
    methods may be called from any thread, but never two at the same time. After ``close``, using it
    raises ``ClosedError``; in a fork of the process that made it, ``ForkError``.

    Args:
        environments: Folder with the initial states of tasks; None if all start empty.
    """

    name: ClassVar[str] = ""
    """How ``mcp`` of ``meta.json`` names the service; other tasks are refused. Empty for any."""
    servers: ClassVar[Mapping[str, Any]] = {}
    """The agent's servers, like ``mcpServers`` of a configuration, with placeholders."""
    programs: ClassVar[tuple[str, ...]] = ("verify.py",)
    """The programs of a task that are run, if they are there."""
    watched: ClassVar[tuple[str, ...]] = ()
    """Variables whose values are files or folders of the agent's work: a program that opens one,
    or what is in one, has looked at it."""

    def __init__(self, environments: Path | None) -> None:
        self.environments = environments

    @classmethod
    def missing(cls) -> str:
        """Return one line that says what to install here; empty if the service works."""
        return ""

    @abc.abstractmethod
    def state_of(self, row: Mapping[str, Any]) -> Path | None:
        """Return where the initial state of a task is; None if it starts empty.

        Args:
            row: ``name``, ``category`` and ``folder`` of the task.

        Raises:
            DataError: It is missing; the message says where it is looked for.
        """

    def refusal(self, row: Mapping[str, Any]) -> str:
        """Return why a task cannot be done with this service; empty if it can."""
        return ""

    @abc.abstractmethod
    def set_up(self, row: Mapping[str, Any]) -> None:
        """Replace what is there by the initial state of a task.

        Raises:
            DataError: The state is missing or defective.
        """

    @property
    @abc.abstractmethod
    def places(self) -> Mapping[str, str]:
        """The values of the placeholders of ``servers``, without braces.

        They do not change as long as the service is open, and can be asked for before ``set_up``.
        """

    @property
    @abc.abstractmethod
    def variables(self) -> Mapping[str, str]:
        """The environment variables with which a verifying program finds the agent's work."""

    @property
    def folder(self) -> Path | None:
        """The working directory of the verifying program; None for the folder of the task."""
        return None

    @contextlib.contextmanager
    def copy_for_verification(self) -> Iterator[Self]:
        """Yield what a program verifies, which may be a copy: programs may write.

        This is called once at the end of an episode.
        """
        yield self

    @contextlib.contextmanager
    def untouched(self, row: Mapping[str, Any]) -> Iterator[Self]:
        """Yield the initial state of a task, to be verified as if an agent had done nothing."""
        other = type(self)(self.environments)
        try:
            other.set_up(row)
            with other.copy_for_verification() as copy:
                yield copy
        finally:
            other.close()

    def was_seen(self) -> bool:
        """Return whether a program has looked at what ``copy_for_verification`` yielded.

        For what ``watched`` does not notice, such as a connection to a database.
        """
        return False

    def objection(self) -> str:
        """Return why what an agent left cannot be trusted; the reward is then 0. Empty if it can.

        Asked of what ``copy_for_verification`` yields, before the program runs.
        """
        return ""

    @abc.abstractmethod
    def pack(self) -> bytes:
        """Return what the agent has made of the state, for snapshots and forks."""

    @abc.abstractmethod
    def unpack(self, packed: bytes) -> None:
        """Replace what is there by the result of ``pack``, perhaps of another process."""

    @abc.abstractmethod
    def close(self) -> None:
        """Release it; may be called twice."""


def make_service(service: str, environments: Path | None) -> Service:
    """Make what an environment has of a service.

    Args:
        service: An id such as ``filesystem``, or ``module:Class``.
        environments: See ``Service``.

    Raises:
        UnknownIdError: There is no such service.
        NotInstalledError: What it needs is not installed here.
        ConfigError: The entry point is not a ``Service``.
    """
    kind = resolve(TASK_SERVICES, service).load()
    if not (isinstance(kind, type) and issubclass(kind, Service)):
        raise ConfigError(f"The service {service!r} must be a class of Service; got {kind!r}.")
    if problem := kind.missing():
        raise NotInstalledError(problem)
    return kind(environments)
