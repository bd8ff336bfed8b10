"""The errors of this package; all others are those of ``gem_core.errors``."""

from gem_core.errors import GemError, UnknownIdError

__all__ = ["InstallationError", "UnknownEnvError"]


class InstallationError(GemError, ImportError):
    """A name cannot be had from what is installed."""


class UnknownEnvError(UnknownIdError, ValueError):
    """No environment has this id."""
