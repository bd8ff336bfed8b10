"""Cells: their kinds, how they are read, compared and shown."""

import re
from collections.abc import Iterable
from datetime import date
from typing import Any, TypeAlias

from .errors import CellError

Cell: TypeAlias = int | float | bool | date | str | None

_INT = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KINDS = {bool: "bool", int: "int", float: "float", date: "date", str: "text", type(None): "empty"}
_FAMILIES = {"bool": 0, "int": 1, "float": 1, "date": 2, "text": 3, "empty": 4}


def parse_cell(text: str) -> Cell:
    """The cell that a text stands for, blanks around it left out.

    Nothing is an empty cell (None); true and false, in any case, are bools; 12 and -3 are ints,
    while 007 and +5 stay text; 2.50 is a float, while 2. and .5 stay text; 2024-02-29 is a date,
    while a day that is in no calendar stays text. Anything else is text.
    """
    text = text.strip()
    if text == "":
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else text
    except ValueError:
        return text


def kind_of(cell: Cell) -> str:
    """One of "empty", "bool", "int", "float", "date" and "text"."""
    return _KINDS[type(cell)]


def common_kind(cells: Iterable[Cell]) -> str:
    """The kind of a whole column, in which empty cells do not count.

    Ints together with floats make "float". Any other mixture, and no cells at all, make "text".
    """
    kinds = {kind_of(cell) for cell in cells} - {"empty"}
    if kinds == {"int", "float"}:
        return "float"
    return kinds.pop() if len(kinds) == 1 else "text"


def sort_key(cell: Cell) -> tuple[int, Any]:
    """A key that puts bools first, then numbers, dates, text and empty cells.

    Text goes by its letters whatever their case; of two that differ in case only, capitals lead.
    """
    family = _FAMILIES[kind_of(cell)]
    return family, (cell.casefold(), cell) if isinstance(cell, str) else cell


def identity(*cells: Cell) -> tuple[tuple[int, Cell], ...]:
    """A hashable key, the same for cells that are grouped together or joined.

    1 and 1.0 are the same; 1 and True are not; an empty cell is the same as another one.
    """
    return tuple((_FAMILIES[kind_of(cell)], cell) for cell in cells)


def compare(left: Cell, right: Cell) -> int:
    """-1, 0 or 1 where the left cell is less than, equal to or greater than the right one.

    The order is that of `sort_key`. Cells of unlike kinds (other than an int and a float) and
    empty cells raise CellError.
    """
    one, other = sort_key(left), sort_key(right)
    if left is None or one[0] != other[0]:
        raise CellError(f"cannot compare {kind_of(left)} with {kind_of(right)}")
    return int(one > other) - int(one < other)


def number(cell: Cell) -> int | float:
    """The cell itself where it is an int or a float; anything else raises CellError."""
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return cell
    raise CellError(f"expected a number, not {kind_of(cell)}")


def format_cell(cell: Cell, places: int = 2) -> str:
    """The text that shows a cell; floats have so many decimal places and never read -0.

    Bools are shown as yes and no, dates as 2024-02-29, an empty cell as nothing.
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{round(cell, places) + 0.0:.{places}f}"
    return str(cell)
