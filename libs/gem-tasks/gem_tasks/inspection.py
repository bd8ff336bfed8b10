"""What the rows of an environment are like: the columns that it reads, and the values in them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gem_tasks.golds import EMPTY_GOLD, Answer, is_empty
from gem_tasks.rows import INSPECTOR, forget_rows, misfits, mismatch

__all__ = ["Inspection", "name_of_type"]


class Inspection:
    """Notes on the rows that are loaded while it is open; none of them is an error.

    Attributes:
        columns: The name and the type of each column that the environment reads.
        refused: The reason for each row that the environment would refuse, by its number.
        seen: The number of values so far.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Any] = {}
        self.refused: dict[int, str] = {}
        self.seen = 0
        self._types: dict[str, dict[str, None]] = {}
        self._starts: dict[str, int] = {}
        self._rows = 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let environments that are made in the context load any rows, and note what they have."""
        forget_rows()
        token = INSPECTOR.set(self)
        try:
            yield
        finally:
            INSPECTOR.reset(token)
            forget_rows()

    def clear(self) -> None:
        """Forget the rows, but not the types of their values: they are looked at again."""
        self.refused.clear()
        self._starts.clear()
        self._rows = 0

    @property
    def types(self) -> dict[str, str]:
        """The types of the values of each column, such as ``str`` or ``int | list[int]``."""
        return {column: " | ".join(sorted(names)) for column, names in self._types.items()}

    def needs(self, columns: Mapping[str, Any]) -> None:
        """Take the name and the type of each column that an environment reads."""
        self.columns = dict(columns)

    def look(self, values: list[Any], kind: Any, origin: str, column: str, start: int) -> None:
        """Take some values of a column; see ``gem_tasks.rows.require_types``."""
        first = self._starts.setdefault(origin, self._rows) + start  # after the files before it
        self._rows = max(self._rows, first + len(values))
        self.seen += len(values)
        self._types.setdefault(column, {}).update(dict.fromkeys(map(_type_of, values)))
        for at, why in _faults(values, kind).items():
            reason = f"Row {start + at} of {origin}, column {column!r}: {why}"
            self.refused.setdefault(first + at, reason)


def _faults(values: list[Any], kind: Any) -> dict[int, str]:
    """Return what is wrong with values, by their places."""
    wrong = {at: mismatch(values[at], kind) for at in misfits(values, kind)}
    if kind is Answer:
        empty = [at for at, value in enumerate(values) if at not in wrong and is_empty(value)]
        wrong |= dict.fromkeys(empty, EMPTY_GOLD)
    return wrong


def name_of_type(kind: Any) -> str:
    """Return the name of the type of a column, as it is declared."""
    if kind is Answer:
        return "Answer"
    return kind.__name__ if type(kind) is type else str(kind).replace("typing.", "")


def _type_of(value: Any) -> str:
    if not isinstance(value, list):
        return type(value).__name__
    inside = " | ".join(sorted({type(one).__name__ for one in value}))
    return f"list[{inside}]" if inside else "list"
