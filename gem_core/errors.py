"""Every error that gem-core raises on purpose.

``GemError`` is the root, so one ``except`` catches all; each class is also the builtin that it
specialises, so code that knows nothing of gem-core catches it too. A message says what was asked,
what was found and what to do. Each error can be pickled and sent between processes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "ClosedError",
    "ConfigError",
    "ContentError",
    "DataError",
    "DeadlineError",
    "DuplicateIdError",
    "EntryPointError",
    "EnvironmentFault",
    "EpisodeEndedError",
    "ForkError",
    "GemError",
    "HubError",
    "InvalidActionError",
    "InvalidIdError",
    "MachineError",
    "ModelUnavailableError",
    "NoMachineError",
    "NoRandomActionError",
    "PluginError",
    "ReturnValueError",
    "RewardError",
    "SandboxError",
    "SnapshotError",
    "UnknownIdError",
    "UnknownKwargError",
    "WorkerCallError",
    "WorkerDiedError",
    "WrapperOrderError",
    "WrongAgentError",
    "near_names",
]

_LONGEST_NAME = 100


class GemError(Exception):
    """Root of all errors of gem-core and its plugins."""

    def __str__(self) -> str:
        """Return the message as written (``KeyError`` alone would quote it)."""
        return str(self.args[0]) if self.args else ""


class InvalidIdError(GemError, ValueError):
    """An id does not follow the grammar of ids."""


class UnknownIdError(GemError, KeyError):
    """No spec of the asked kind has this id."""


class DuplicateIdError(GemError, ValueError):
    """Two sources registered the same id."""


class EntryPointError(GemError, ImportError):
    """An entry point does not exist, or its module cannot be imported."""


class PluginError(GemError, RuntimeError):
    """A plugin could not be loaded, or it breaks the plugin contract."""


class UnknownKwargError(GemError, TypeError):
    """A keyword argument that the target does not accept."""


class ConfigError(GemError, ValueError):
    """A parameter or configuration value is not valid."""


class NotInstalledError(ConfigError, ImportError):
    """A package or a model is not on this machine; the message says how to get it."""


class ContentError(GemError, ValueError):
    """An image for an agent cannot be read."""


class DataError(GemError, ValueError):
    """Data cannot be used: a path, split, column or value is missing or wrong."""


class HubError(GemError, ConnectionError):
    """The hub did not deliver a dataset: unreachable, unknown, gated, or interrupted."""


class ModelUnavailableError(GemError, RuntimeError):
    """A model cannot be asked, whatever the prompt: it is unreachable, or refuses every request.

    Agents raise a subclass of it. A run may end after several in a row.
    """


class NoRandomActionError(GemError, NotImplementedError):
    """An environment does not sample random actions."""


class ReturnValueError(GemError, TypeError):
    """A method of an environment returned a value of a wrong type."""


class RewardError(GemError, ValueError):
    """An environment returned a reward that is not a finite number."""


class SandboxError(GemError, RuntimeError):
    """A sandbox cannot run programs: it is closed, or something that it needs is missing."""


class MachineError(GemError, RuntimeError):
    """A machine cannot do what was asked: it has ended, or a file or something else is missing."""


class NoMachineError(MachineError):
    """No machine can be started on this host; the message says what is missing."""


class WrapperOrderError(ConfigError):
    """Wrappers are stacked in a wrong order."""


class InvalidActionError(GemError, TypeError):
    """An action has a type that the environment cannot read; the episode is unchanged."""


class WrongAgentError(GemError, ValueError):
    """An agent is unknown, absent or acts out of turn, or an action of an agent is missing."""


class EpisodeEndedError(GemError, RuntimeError):
    """``step`` was called before ``reset``, or after the episode had ended."""


class SnapshotError(GemError, ValueError):
    """State cannot be saved, or a snapshot belongs to something else."""


class ClosedError(GemError, RuntimeError):
    """Something was used after it had been closed."""


class ForkError(GemError, RuntimeError):
    """Something that a process holds was used in a fork of that process."""


class EnvironmentFault(GemError, RuntimeError):  # noqa: N818 - "fault" is the term for it
    """An environment of a vector raised; the original error is the ``__cause__``.

    Args:
        message: The message.
        index: Position of the environment in the vector.
        completed: Results of the other environments, by position.
    """

    def __init__(
        self, message: str, index: int = -1, completed: Mapping[int, Any] | None = None
    ) -> None:
        super().__init__(message, index, completed or {})
        self.index = index
        self.completed = completed or {}


class DeadlineError(GemError, TimeoutError):
    """Something exceeded its deadline and was ended."""


class WorkerCallError(GemError, RuntimeError):
    """A function raised in a worker process, or cannot be called there."""


class WorkerDiedError(GemError, RuntimeError):
    """A worker process ended before it answered."""


def near_names(name: str, names: Iterable[str]) -> str:
    """Return ``" Did you mean 'a' or 'b'?"``, or ``""`` if no name is similar.

    Only the first 100 characters of ``name`` are compared, as the time grows with its length.
    """
    import difflib  # noqa: PLC0415 - only errors pay for it

    near = difflib.get_close_matches(name[:_LONGEST_NAME], list(names), n=3, cutoff=0.6)
    if not near:
        return ""
    return " Did you mean " + " or ".join(repr(other) for other in near) + "?"
