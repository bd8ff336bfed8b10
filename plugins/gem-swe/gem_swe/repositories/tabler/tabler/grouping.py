"""Groups of rows: aggregates, pivot tables, and window functions.

Window functions give the cells of a new column (for `Table.with_column`), each by the rows in the
group of its row; the columns in `by` make the groups, without any the whole table is one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from .cells import Cell, compare, format_cell, identity, number, sort_key
from .errors import CellError
from .table import Row, Table

Window = Callable[[list[Cell]], list[Cell]]


def _sum(cells: list[Cell], mean: bool = False) -> Cell:
    total = sum(map(number, cells))
    return (total / len(cells) if mean else total) if cells else None


def _extreme(sign: int) -> Callable[[list[Cell]], Cell]:
    def best(cells: list[Cell]) -> Cell:
        chosen: Cell = None
        for cell in cells:
            if chosen is None or compare(cell, chosen) == sign:
                chosen = cell
        return chosen

    return best


def _median(cells: list[Cell]) -> Cell:
    ordered = sorted(map(number, cells))
    middle, odd = divmod(len(ordered), 2)
    if odd or not ordered:
        return ordered[middle] if odd else None
    return (ordered[middle - 1] + ordered[middle]) / 2


FUNCTIONS: dict[str, Callable[[list[Cell]], Cell]] = {
    "count": len,
    "sum": _sum,
    "mean": partial(_sum, mean=True),
    "min": _extreme(-1),
    "max": _extreme(1),
    "median": _median,
}


def aggregate(function: str, cells: Iterable[Cell]) -> Cell:
    """The count, sum, mean, min, max or median of the cells, empty ones passed over.

    Without any filled cell the count is 0 and the others are empty. Of equal cells, min and max
    give the first. The median of an even count is the mean of the two in the middle. Cells that
    are no numbers (for min and max: that `compare` rejects) or an unknown function raise CellError.
    """
    if function not in FUNCTIONS:
        raise CellError(f"no function {function!r}")
    return FUNCTIONS[function]([cell for cell in cells if cell is not None])


@dataclass(frozen=True)
class Aggregate:
    """A function of a column; "*" for the column of a count means all rows."""

    function: str
    column: str = "*"
    label: str = ""

    @property
    def title(self) -> str:
        """The label, or else the call as it is written: sum(price)."""
        return self.label or f"{self.function}({self.column})"

    def of(self, rows: Sequence[Row]) -> Cell:
        """The result for some rows."""
        if self.function == "count" and self.column == "*":
            return len(rows)
        return aggregate(self.function, [row[self.column] for row in rows])


def partition(table: Table, names: Sequence[str]) -> list[list[Row]]:
    """The rows in groups that agree in the named columns, groups in the order of first rows.

    Without names, all rows are one group, even where there are no rows.
    """
    if not names:
        return [list(table)]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in table:
        groups.setdefault(identity(*row.pick(names)), []).append(row)
    return list(groups.values())


def group_by(table: Table, names: Sequence[str], aggregates: Sequence[Aggregate]) -> Table:
    """One row for each group of `partition`: the named columns, then the aggregates."""
    rows: list[tuple[Cell, ...]] = []
    for group in partition(table, names):
        keys = group[0].pick(names) if names else ()
        rows.append(keys + tuple(one.of(group) for one in aggregates))
    return Table([*names, *(one.title for one in aggregates)], rows)


def pivot(
    table: Table, down: str, across: str, value: str, function: str = "sum", fill: Cell = None
) -> Table:
    """A table with a row for each cell of the column `down` and a column for each of `across`.

    Rows come in the order of first appearance; columns in that of `sort_key`, and named by
    `format_cell` for the first of equal cells, but "(empty)" for an empty one. Where they meet is
    the function of the cells of `value`, or `fill` where no row has both.
    """
    heads = sorted((group[0][across] for group in partition(table, [across])), key=sort_key)
    rows: list[list[Cell]] = []
    for group in partition(table, [down]):
        out = [group[0][down]]
        for head in heads:
            cells = [row[value] for row in group if identity(row[across]) == identity(head)]
            out.append(aggregate(function, cells) if cells else fill)
        rows.append(out)
    return Table([down, *(format_cell(head) or "(empty)" for head in heads)], rows)


def _apply(table: Table, column: str, by: Sequence[str], window: Window) -> list[Cell]:
    out: list[Cell] = [None] * len(table)
    for group in partition(table, by):
        results = window([row[column] for row in group])
        for row, result in zip(group, results):
            out[row.place] = result
    return out


def running_total(table: Table, column: str, by: Sequence[str] = ()) -> list[Cell]:
    """The sum of the column up to and with each row, empty until there is a number."""

    def window(cells: list[Cell]) -> list[Cell]:
        total: int | float | None = None
        out: list[Cell] = []
        for cell in cells:
            if cell is not None:
                total = number(cell) + (total or 0)
            out.append(total)
        return out

    return _apply(table, column, by, window)


def rank(
    table: Table, column: str, by: Sequence[str] = (), descending: bool = False, dense: bool = False
) -> list[Cell]:
    """The place of each row by the column, 1 for the least, or for the greatest if `descending`.

    Equal cells share a rank. The rank after it is higher by the number of cells that share it,
    or by one if `dense`. Empty cells have no rank.
    """

    def window(cells: list[Cell]) -> list[Cell]:
        filled = [cell for cell in cells if cell is not None]
        ranks: dict[object, int] = {}
        for place, cell in enumerate(sorted(filled, key=sort_key, reverse=descending), start=1):
            ranks.setdefault(identity(cell), len(ranks) + 1 if dense else place)
        return [ranks.get(identity(cell)) for cell in cells]

    return _apply(table, column, by, window)


def lag(
    table: Table, column: str, by: Sequence[str] = (), offset: int = 1, default: Cell = None
) -> list[Cell]:
    """The cell `offset` rows before each row (after it if negative), or `default` if none is."""

    def window(cells: list[Cell]) -> list[Cell]:
        sources = range(-offset, len(cells) - offset)
        return [cells[at] if 0 <= at < len(cells) else default for at in sources]

    return _apply(table, column, by, window)
