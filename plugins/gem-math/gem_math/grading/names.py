"""Sets of names, written as plain text."""

__all__ = ["names"]


def names(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
