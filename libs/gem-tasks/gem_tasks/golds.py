"""The correct answers of rows, and those that no answer can match."""

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from gem_core.errors import DataError

__all__ = [
    "EMPTY_GOLD",
    "Answer",
    "GoldWarning",
    "gold_answers",
    "is_empty",
    "require_golds",
    "warn_of_reasoning",
]

Answer = str | int | float | bool | list[str | int | float | bool]
"""The type of a column of answers: one answer, or a list of alternatives."""

MARK = "####"
"""What precedes the answer in GSM8K and in the data sets that have its form."""
EMPTY_GOLD = "the gold answer is empty, so no answer is correct"
MANY = 25
"""The number of words from which a gold answer is taken for an explanation."""
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")


class GoldWarning(UserWarning):
    """A gold answer that no answer, or no short one, can match."""


def gold_answers(value: Answer, after: str | None = None) -> tuple[str, ...]:
    """Return the correct answers as text: each element of a list, or else the value itself.

    Args:
        value: The value of a column of answers.
        after: An answer is only what follows the last occurrence of this text, such as ``####``;
            all of it where the text does not occur.
    """
    golds = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
    return golds if after is None else tuple(gold.rpartition(after)[2].strip() for gold in golds)


def require_golds(values: Iterable[Answer], where: str, start: int, *, remote: bool) -> None:
    """Raise ``DataError`` if a value has no gold answer: it is empty, and no answer is correct.

    Args:
        values: The values of a column of answers.
        where: What the message calls the column.
        start: The row number of the first value.
        remote: The rows are on the hub, where they cannot be mended: warn of them instead.
    """
    empty = [number for number, value in enumerate(values, start) if is_empty(value)]
    if not empty:
        return
    problem = f"Row {empty[0]} {where}: {EMPTY_GOLD}"
    if not remote:
        raise DataError(f"{problem}.")
    more = f", nor in {len(empty) - 1} of the rows after it" if empty[1:] else ""
    warnings.warn(f"{problem}{more}.", GoldWarning, stacklevel=2)


def is_empty(value: Answer) -> bool:
    """Return whether a value of a column of answers has no text."""
    text = value if isinstance(value, str) else "".join(gold_answers(value))
    return not text or text.isspace()


def warn_of_reasoning(
    values: Sequence[Answer], where: str, *, after: str | None, hint: str
) -> None:
    """Warn of gold answers that contain an explanation, which no short answer equals.

    Args:
        values: The values of a column of answers, those of the first rows.
        where: What the message calls the column.
        after: What precedes an answer, if it is known.
        hint: What to do, with ``{mark}`` for the mark that precedes an answer.
    """
    found = [(n, value) for n, value in enumerate(values) if _explains(value, after)]
    if found:
        number, value = found[0]
        text = gold_answers(value, after)[0]
        warnings.warn(
            f"Row {number} {where}: the gold answer is more than an answer: "
            f"{text if len(text) <= 60 else f'{text[:30]}...{text[-27:]}'!r}. "
            f"{hint.format(mark=repr(MARK) if MARK in text else '...')}",
            GoldWarning,
            stacklevel=4,
        )


def _explains(value: Any, after: str | None) -> bool:
    """Return whether each alternative explains an answer, and does not mark it with a box."""
    return all(
        "\\boxed" not in gold and (MARK in gold or len(_WORD.findall(gold)) >= MANY)
        for gold in gold_answers(value, after)
    )
