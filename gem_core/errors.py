"""Every error that gem-core raises on purpose.

``GemError`` is the root, so one ``except`` catches all; each class is also the builtin that it
specialises, so code that knows nothing of gem-core catches it too. A message says what was asked,
what was found and what to do. Each error can be pickled and sent between processes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "ConfigError",
    "ContentError",
    "DataError",
    "DeadlineError",
    "DuplicateIdError",
    "EntryPointError",
    "EnvironmentFault",
    "EpisodeEndedError",
    "GemError",
    "HubError",
    "InvalidActionError",
    "InvalidIdError",
    "PluginError",
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
    """An entry point leads to nothing, or its module fails to import."""


class PluginError(GemError, RuntimeError):
    """A plugin could not be loaded, or it breaks the plugin contract."""


class UnknownKwargError(GemError, TypeError):
    """A keyword argument that the target does not take."""


class ConfigError(GemError, ValueError):
    """A parameter or configuration value that cannot work."""


class ContentError(GemError, ValueError):
    """Something that was to be shown to an agent is no image that can be read."""


class DataError(GemError, ValueError):
    """Data that cannot be used: a path, a split, a column or a value that is not as asked for."""


class HubError(GemError, ConnectionError):
    """The hub does not give a dataset: out of reach, unknown, gated, or it broke off."""


class SandboxError(GemError, RuntimeError):
    """A sandbox cannot run programs: closed, or what it stands on is missing or has failed."""


class WrapperOrderError(ConfigError):
    """Wrappers are stacked in an order that cannot work."""


class InvalidActionError(GemError, TypeError):
    """An action of a type that the environment cannot read; the episode is unchanged."""


class WrongAgentError(GemError, ValueError):
    """An agent that is unknown, absent or not to act, or one that is to act and does not."""


class EpisodeEndedError(GemError, RuntimeError):
    """``step`` was called before ``reset``, or after the episode had ended."""


class SnapshotError(GemError, ValueError):
    """State that cannot be saved, or a snapshot that does not fit."""


class EnvironmentFault(GemError, RuntimeError):  # noqa: N818 - "fault" is the term for it
    """An environment of a vector raised; the original error is the ``__cause__``.

    Args:
        message: The message.
        index: Position of the environment in the vector.
        completed: What the other environments returned, by position.
    """

    def __init__(
        self, message: str, index: int = -1, completed: Mapping[int, Any] | None = None
    ) -> None:
        super().__init__(message, index, completed or {})
        self.index = index
        self.completed = completed or {}


class DeadlineError(GemError, TimeoutError):
    """Something took longer than it was given, and was ended."""


class WorkerCallError(GemError, RuntimeError):
    """A function that a worker process was asked to call raised, or cannot be called there."""


class WorkerDiedError(GemError, RuntimeError):
    """A worker process ended before it answered."""


def near_names(name: str, names: Iterable[str]) -> str:
    """Return ``" Did you mean 'a' or 'b'?"``, or ``""`` when nothing is near."""
    import difflib  # noqa: PLC0415 - only errors pay for it

    near = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    if not near:
        return ""
    return " Did you mean " + " or ".join(repr(other) for other in near) + "?"
