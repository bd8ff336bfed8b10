"""The rows of JSON and CSV files, as written: integers stay integers, and CSV cells are texts.

A reader goes through the lines of a file once and yields each row with its place. It turns the
bytes at that place into the row again, so the rows need not be kept. Errors name the file, the row
(from 0) and the line (from 1).
"""

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from gem_core.errors import DataError
from gem_tasks.json_values import RepeatedKeyError, exact_json, row_json, row_json_at
from gem_tasks.rows import shortened

__all__ = ["Csv", "Json", "Reader", "Record"]

_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\r\n"
_LONGEST_CELL = (1 << 31) - 1
"""The number of characters of a cell; the default of ``csv``, 131,072, is too little for tests."""


class Record(NamedTuple):
    """A row, and its place in the file: bytes ``start`` to ``end``."""

    start: int
    end: int
    row: dict[str, Any]


class Reader(ABC):
    """Reads the rows of one file.

    Args:
        name: What error messages call the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @abstractmethod
    def records(self, lines: Iterable[bytes]) -> Iterator[Record]:
        """Yield the rows of a file.

        Raises:
            DataError: A row cannot be read.
        """

    @abstractmethod
    def row(self, part: bytes) -> dict[str, Any]:
        """Return the row of the bytes at a place that ``records`` has given."""

    def _error(self, number: int, line: int, problem: str) -> DataError:
        return DataError(f"Row {number} of {self._name} (line {line}) {problem}.")

    def _text(self, data: bytes, number: int, line: int) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            near = shortened(data[max(0, error.start - 20) : error.start + 20])
            problem = f"is not UTF-8, which the file must be saved as: {near}"
            raise self._error(number, line, problem) from None


class Json(Reader):
    """Rows that are JSON objects: one a line, or the elements of one list."""

    def records(self, lines: Iterable[bytes]) -> Iterator[Record]:
        lines = _without_mark(lines)
        start, number = next(lines), 0
        for line_number, line in enumerate(lines, 1):
            if not number and line.lstrip().startswith(b"["):
                yield from self._of_list(b"".join(chain([line], lines)), start, line_number)
                return
            end = start + len(line)
            if line.strip():
                row = self._object(self._text(line, number, line_number), number, line_number)
                yield Record(start, end, row)
                number += 1
            start = end

    def row(self, part: bytes) -> dict[str, Any]:
        return exact_json(part.decode())  # type: ignore[no-any-return]

    def _object(self, text: str, number: int, line: int) -> dict[str, Any]:
        try:
            value = row_json(text)
        except ValueError as error:
            raise self._not_json(text, error, number, line) from None
        return self._checked(value, number, line)

    def _not_json(self, text: str, error: Exception, number: int, line: int) -> DataError:
        if isinstance(error, RepeatedKeyError):
            return self._error(number, line, f"loses a value: {error}: {shortened(text)}")
        problem = getattr(error, "msg", error)
        return self._error(number, line, f"is not JSON: {problem}: {shortened(text)}")

    def _checked(self, value: Any, number: int, line: int) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(number, line, f"is not a JSON object: {shortened(value)}")
        return value

    def _of_list(self, data: bytes, start: int, line: int) -> Iterator[Record]:
        """Yield the elements of a list, which is all that the file contains."""
        text, number = self._text(data, 0, line), 0
        cursor = _Cursor(text, start, line)
        cursor.move(text.index("[") + 1)
        while number or cursor.next != "]":
            first, row_line = cursor.byte, cursor.line
            try:
                value, end = row_json_at(text, cursor.at)
            except ValueError as error:
                rest = text[cursor.at : cursor.at + 100]
                raise self._not_json(rest, error, number, row_line) from None
            row, last = self._checked(value, number, row_line), cursor.move(end)
            yield Record(first, last, row)
            if cursor.next != ",":
                break
            cursor.move(cursor.at + 1)
            number += 1
        if cursor.next != "]" or text[cursor.at + 1 :].strip(_SPACE):
            rest = shortened(text[cursor.at : cursor.at + 100])
            raise self._error(number, cursor.line, f"is followed by neither ',' nor ']': {rest}")


class _Cursor:
    """A position between the characters of a text; the next one is not white space.

    Attributes:
        at: The number of characters before it.
        byte: The number of bytes before it, from the start of the file.
        line: The number of its line.
    """

    def __init__(self, text: str, byte: int, line: int) -> None:
        self._text = text
        self.at, self.byte, self.line = 0, byte, line

    def move(self, to: int) -> int:
        """Move to a character, return its byte, and skip the white space that begins there."""
        byte = self._go(to)
        text = self._text
        while to < len(text) and text[to] in _SPACE:
            to += 1
        self._go(to)
        return byte

    def _go(self, to: int) -> int:
        passed = self._text[self.at : to]
        self.byte += len(passed.encode())
        self.line += passed.count("\n")
        self.at = to
        return self.byte

    @property
    def next(self) -> str:
        """The next character; empty at the end."""
        return self._text[self.at : self.at + 1]


class Csv(Reader):
    """Rows of texts below a line with the names of the columns, separated by commas."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._header: list[str] = []

    def records(self, lines: Iterable[bytes]) -> Iterator[Record]:
        lines = _without_mark(lines)
        end, number, row_line = next(lines), -1, 1

        def texts() -> Iterator[str]:
            nonlocal end
            for line_number, line in enumerate(lines, 1):
                end += len(line)
                yield self._text(line, max(number, 0), line_number)

        reader = csv.reader(texts(), strict=True)
        while True:
            start, row_line = end, reader.line_num + 1
            limit = csv.field_size_limit(_LONGEST_CELL)  # of the process
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self._error(max(number, 0), row_line, f"is not CSV: {error}") from None
            finally:
                csv.field_size_limit(limit)
            if not cells:
                continue
            if number < 0:
                self._header = self._named(cells)
            elif len(cells) != len(self._header):
                problem = f"has {len(cells)} cells for {len(self._header)} columns"
                raise self._error(number, row_line, f"{problem}: {shortened(cells)}")
            else:
                yield Record(start, end, dict(zip(self._header, cells, strict=True)))
            number += 1

    def row(self, part: bytes) -> dict[str, Any]:
        lines = [f"{line}\n" for line in part.decode().split("\n")]
        (cells,) = filter(None, csv.reader(lines, strict=True))
        return dict(zip(self._header, cells, strict=True))

    def _named(self, cells: list[str]) -> list[str]:
        twice = {name for name in cells if name and cells.count(name) > 1}
        if twice:
            names = ", ".join(map(repr, sorted(twice)))
            raise DataError(f"The first line of {self._name} has the columns {names} twice.")
        return cells


def _without_mark(lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield the number of bytes before the first line (of a byte order mark), and the lines."""
    lines = iter(lines)
    first = next(lines, b"")
    mark = len(_BOM) if first.startswith(_BOM) else 0
    yield mark
    yield from chain([first[mark:]], lines)
