"""Texts of which each continues the one before, kept without repeating it.

Under a history wrapper an observation is the whole episode so far. Kept as it is, an episode would
grow with the square of its turns. So a text is kept as the pieces that it shares with the text
before, and what is new.
"""

from dataclasses import dataclass
from typing import Any

__all__ = ["GrowingText", "GrowingTexts"]

_LEAST_SHARED = 256
"""Characters that a text must share with the one before; below, it is kept as it is."""
_TAIL = 4096
"""Characters before the end of a text in which it may differ from the next one (a suffix)."""


@dataclass(frozen=True, slots=True)
class GrowingText:
    """A text that begins with pieces that its neighbours have too.

    Args:
        pieces: The pieces of all neighbours, a list that they share.
        count: The number of pieces that it begins with.
        rest: What follows them.
        shared: The characters of these pieces.
    """

    pieces: list[str]
    count: int
    rest: str
    shared: int

    def __str__(self) -> str:
        return "".join([*self.pieces[: self.count], self.rest])


class GrowingTexts:
    """Turns texts into what is kept of them, one after another."""

    def __init__(self) -> None:
        self._text = ""
        self._kept: GrowingText | None = None

    def keep(self, text: Any, shared: int | None = None) -> Any:
        """Return what to keep of a value: a ``GrowingText``, or the value itself.

        Args:
            text: An observation; one that is not a text is returned, and nothing continues it.
            shared: How many characters it shares with the value before; None to compare them.
        """
        if type(text) is not str:
            self._text, self._kept = "", None
            return text
        common = _common(self._text, text) if shared is None else shared
        before, self._text = self._text, text
        kept = self._kept
        if common < _LEAST_SHARED or (kept is not None and common < kept.shared):
            self._kept = None
            return text
        pieces, begun = (kept.pieces, kept.shared) if kept is not None else ([], 0)
        if common > begun:
            pieces.append(before[begun:common])
        self._kept = GrowingText(pieces, len(pieces), text[common:], common)
        return self._kept


def _common(before: str, text: str) -> int:
    """Return how many characters two texts share at their beginning, or at least 0.

    Only a difference in the last ``_TAIL`` characters of the first one is looked for: comparing
    long texts is fast, finding where they differ is not.
    """
    if text.startswith(before):
        return len(before)
    begun = max(0, len(before) - _TAIL)
    if not text.startswith(before[:begun]):
        return 0
    low, high = begun, min(len(before), len(text))
    while low < high:
        middle = (low + high + 1) // 2
        if text[begun:middle] == before[begun:middle]:
            low = middle
        else:
            high = middle - 1
    return low
