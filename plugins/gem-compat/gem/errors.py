"""The errors of this package; all others are those of ``gem_core.errors``."""

from gem_core.errors import GemError, UnknownIdError

__all__ = ["InstallationError", "UnknownEnvError"]


class InstallationError(GemError, ImportError):
    """A name needs something that is not installed, or conflicts with it."""


class UnknownEnvError(UnknownIdError, ValueError):
    """No environment has this id."""
