"""Joins of two tables on columns with equal cells."""

from collections.abc import Sequence

from .cells import Cell, identity
from .errors import CellError, ColumnError
from .grouping import partition
from .table import Table


def join(
    left: Table,
    right: Table,
    on: Sequence[str],
    right_on: Sequence[str] = (),
    how: str = "inner",
    suffix: str = "_right",
) -> Table:
    """Rows of the left table, each put together with every row of the right that matches it.

    Rows match where the cells in the columns `on` of the left table are the same (see `identity`)
    as those in `right_on`, or in `on` again if that is left out, of the right one. An empty cell
    matches nothing. With "left" for `how`, a left row without any match is kept, with empty cells
    at its right. The key columns of the right table are left out; others get the suffix where the
    left table has a column of that name. No columns to join on, or more on one side than on the
    other, raises ColumnError; another `how` raises CellError.
    """
    right_keys = right_on or on
    if how not in ("inner", "left"):
        raise CellError(f"cannot join {how!r}")
    if not on or len(right_keys) != len(on):
        raise ColumnError("a join needs as many columns on either side, and at least one")
    groups = partition(right, right_keys)
    index = {identity(*group[0].pick(right_keys)): group for group in groups}
    others = [name for name in right.columns if name not in right_keys]
    labels = [name + suffix if name in left.columns else name for name in others]
    rows: list[tuple[Cell, ...]] = []
    for row in left:
        wanted = row.pick(on)
        found = [] if None in wanted else index.get(identity(*wanted), [])
        rows.extend(row.cells + match.pick(others) for match in found)
        if not found and how == "left":
            rows.append(row.cells + (None,) * len(others))
    return Table([*left.columns, *labels], rows)
