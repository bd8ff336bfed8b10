"""Why an answer cannot be compared here."""

__all__ = ["UnreadableError", "UnsupportedError"]


class UnreadableError(ValueError):
    """It is no mathematics: prose, or broken LaTeX."""


class UnsupportedError(UnreadableError):
    """It is mathematics beyond this grammar: integrals, sums, limits."""
