"""The reasons why an answer cannot be read."""

__all__ = ["UnreadableError", "UnsupportedError"]


class UnreadableError(ValueError):
    """The answer is not mathematics but prose or broken LaTeX."""


class UnsupportedError(UnreadableError):
    """The answer is mathematics beyond this grammar: integrals, sums, limits."""
