"""The table: named columns, rows of cells, and what can be done with one table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from .cells import Cell, sort_key
from .errors import CellError, ColumnError


class Row:
    """One row, whose cells are read by the name of their column: row["price"].

    `place` is its place in the table, counted from 0.
    """

    def __init__(self, table: Table, place: int) -> None:
        self._table = table
        self.place = place
        self.cells = table.rows[place]

    def __getitem__(self, name: str) -> Cell:
        return self.cells[self._table.index_of(name)]

    def pick(self, names: Sequence[str]) -> tuple[Cell, ...]:
        """The cells of the named columns, in the order of the names."""
        return tuple(self[name] for name in names)


class Table:
    """Rows of cells under named columns. Methods leave a table as it is and return another."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Cell]] = ()) -> None:
        """A column named twice, or a row that is not as long as the header, raises ColumnError."""
        self.columns = tuple(columns)
        self.rows = [tuple(row) for row in rows]
        self._places = {name: place for place, name in enumerate(self.columns)}
        if len(self._places) != len(self.columns):
            raise ColumnError("a column is named twice")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ColumnError(f"a row has not the {len(self.columns)} cells of the header")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, place) for place in range(len(self.rows)))

    def index_of(self, name: str) -> int:
        """The place of a column, counted from 0; an unknown one raises ColumnError."""
        if name not in self._places:
            raise ColumnError(f"no column {name!r}")
        return self._places[name]

    def column(self, name: str) -> list[Cell]:
        """The cells of a column from top to bottom."""
        place = self.index_of(name)
        return [row[place] for row in self.rows]

    def select(self, *names: str) -> Table:
        """Only the named columns, in the order of the names."""
        return Table(names, zip(*map(self.column, names)))

    def with_column(self, name: str, cells: Sequence[Cell]) -> Table:
        """One more column at the right; unless there is a cell for each row, ColumnError."""
        if len(cells) != len(self.rows):
            raise ColumnError(f"{len(cells)} cells for {len(self.rows)} rows")
        pairs = zip(self.rows, cells)
        return Table([*self.columns, name], ((*row, cell) for row, cell in pairs))

    def where(self, condition: Callable[[Row], bool]) -> Table:
        """Only the rows for which the condition holds."""
        return Table(self.columns, (row.cells for row in self if condition(row)))

    def order_by(self, *names: str, descending: Collection[str] = ()) -> Table:
        """The rows by the first named column, those equal there by the second, and so on.

        The order is that of `sort_key`, or the other way around for columns in `descending`; but
        empty cells always come last. Rows equal in all columns stay in the order they have.
        """
        rows = self.rows
        for name in reversed(names):
            rows = _ordered(rows, self.index_of(name), name in descending)
        return Table(self.columns, rows)

    def limit(self, count: int, skip: int = 0) -> Table:
        """At most `count` rows after the first `skip`; a negative number raises CellError."""
        if count < 0 or skip < 0:
            raise CellError("neither count nor skip may be negative")
        return Table(self.columns, self.rows[skip : skip + count])


def _ordered(rows: list[tuple[Cell, ...]], place: int, down: bool) -> list[tuple[Cell, ...]]:
    filled = [row for row in rows if row[place] is not None]
    empty = [row for row in rows if row[place] is None]
    return sorted(filled, key=lambda row: sort_key(row[place]), reverse=down) + empty
