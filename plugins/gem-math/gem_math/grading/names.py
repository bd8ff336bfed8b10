"""Sets of names, written as one would read them."""

__all__ = ["names"]


def names(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
