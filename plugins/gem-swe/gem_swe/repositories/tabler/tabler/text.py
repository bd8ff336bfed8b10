"""Tables from delimited text, and tables as aligned text."""

from collections.abc import Iterator

from .cells import Cell, common_kind, format_cell, parse_cell
from .errors import CellError, ParseError
from .table import Table

Field = tuple[str, bool]


def split_records(text: str, delimiter: str = ",") -> Iterator[tuple[int, list[Field]]]:
    """The records of delimited text, each with the line on which it begins, counted from 1.

    A field is its text, and whether it was quoted. One whose first character is a double quote
    goes on to the next single one: delimiters and line ends in between are text, and two quotes
    in a row stand for one. Quotes elsewhere are ordinary characters. Blank lines are passed over.
    A quote that is never closed, or anything but a delimiter or line end after the closing one,
    raises ParseError.
    """
    fields: list[Field] = []
    buffer, state, line, start = "", "fresh", 1, 1
    for char in text.replace("\r\n", "\n") + "\n":
        if state == "quoted":
            buffer, state = (buffer, "closed") if char == '"' else (buffer + char, state)
        elif char == '"' and state != "plain":
            buffer, state = (buffer + char if state == "closed" else buffer), "quoted"
        elif char in (delimiter, "\n"):
            if char == delimiter or fields or state == "closed" or buffer.strip():
                fields.append((buffer, state == "closed"))
            buffer, state = "", "fresh"
        elif state == "closed":
            raise ParseError("text after a closing quote", start)
        else:
            buffer, state = buffer + char, "plain"
        if char == "\n":
            line += 1
            if state != "quoted":
                if fields:
                    yield start, fields
                fields, start = [], line
    if state == "quoted":
        raise ParseError("a quote is never closed", start)


def read_table(text: str, delimiter: str = ",", header: bool = True) -> Table:
    """The table that delimited text holds.

    The first record names the columns, blanks around the names left out; without a header, and
    where a name is missing, columns are called c1, c2 and so on by their place. Fields in quotes
    are text as it is, even where there is none; others go through `parse_cell`. Records that are
    too short are filled up with empty cells; one that is longer than the first raises ParseError,
    as does text without any record.
    """
    records = list(split_records(text, delimiter))
    if not records:
        raise ParseError("there are no records", 1)
    names = [text.strip() if header else "" for text, _ in records[0][1]]
    columns = [name or f"c{place}" for place, name in enumerate(names, start=1)]
    rows: list[list[Cell]] = []
    for line, fields in records[1 if header else 0 :]:
        missing = len(columns) - len(fields)
        if missing < 0:
            raise ParseError(f"{len(fields)} fields, expected {len(columns)}", line)
        cells = [text if quoted else parse_cell(text) for text, quoted in fields]
        rows.append(cells + [None] * missing)
    return Table(columns, rows)


def render(table: Table, places: int = 2, missing: str = "-", widest: int = 30) -> str:
    """The table as lines of text: the header, a rule of dashes, the rows.

    Columns are two blanks apart; those of ints and floats are aligned at the right, others at the
    left; no line ends in blanks. All numbers in a column with floats have `places` decimal places.
    Empty cells are shown as `missing`. Cells and names longer than `widest` are cut to that length
    with three dots at the end; `widest` below 4 raises CellError.
    """
    if widest < 4:
        raise CellError("columns cannot be narrower than 4")
    columns = [_column(name, table.column(name), places, missing, widest) for name in table.columns]
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns))


def _column(name: str, cells: list[Cell], places: int, missing: str, widest: int) -> list[str]:
    kind = common_kind(cells)
    shown = [_cut(name, widest)]
    for cell in cells:
        whole = float(cell) if isinstance(cell, int) and kind == "float" else cell
        shown.append(_cut(missing if cell is None else format_cell(whole, places), widest))
    width = max(len(text) for text in shown)
    shown.insert(1, "-" * width)
    return [text.rjust(width) if kind in ("int", "float") else text.ljust(width) for text in shown]


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 3] + "..."
