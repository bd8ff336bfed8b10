"""Rows that the environments of a process share: read once, checked once, never copied.

A row is a dict of the requested columns. Rows from files and from the hub stay in a memory-mapped
file; rows in memory stay the caller's own objects.
"""

import hashlib
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from gem_core.errors import DataError, near_names
from gem_core.records import json_value

__all__ = [
    "DatasetRows",
    "ListRows",
    "MissingColumnError",
    "Rows",
    "checked",
    "checksum",
    "forget_rows",
    "plain_rows",
    "require_columns",
    "require_types",
    "shared_while_used",
    "shared_with_process",
]

BATCH = 1000
"""The number of rows that are checked at a time, which bounds the memory of a check."""

Shared = TypeVar("Shared")


class MissingColumnError(DataError):
    """The data lacks a column.

    Args:
        message: The message.
        column: The name of the column.
    """

    def __init__(self, message: str, column: str = "") -> None:
        super().__init__(message)
        self.column = column


class Rows(ABC):
    """A sequence of rows, read-only and shared.

    Args:
        data: The list or ``datasets.Dataset`` that contains the rows.
        origin: What error messages call the data.
        columns: The name and type of each column to read.
    """

    def __init__(self, data: Any, origin: str, columns: Mapping[str, Any]) -> None:
        self.data = data
        self.origin = origin
        self.columns = dict(columns)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return row ``number``: a new dict from column names to plain values."""

    @abstractmethod
    def batches(self, column: str) -> Iterator[list[Any]]:
        """Yield the values of a column, up to ``BATCH`` at a time."""


class ListRows(Rows):
    """The rows of a list of mappings; see ``Rows``."""

    data: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, number: int) -> dict[str, Any]:
        row = self.data[number]
        return {name: row[name] for name in self.columns}

    def batches(self, column: str) -> Iterator[list[Any]]:
        for start in range(0, len(self), BATCH):
            numbers = range(start, min(start + BATCH, len(self)))
            yield [self._value(number, column) for number in numbers]

    def _value(self, number: int, column: str) -> Any:
        row = self.data[number]
        if not isinstance(row, Mapping):
            raise DataError(
                f"Row {number} of {self.origin} is not a mapping from columns to values; "
                f"got {_shortened(row)}."
            )
        if column not in row:
            require_columns([column], row, f"row {number} of {self.origin}")
        return row[column]


class DatasetRows(Rows):
    """The rows of a ``datasets.Dataset``; see ``Rows``. Images are left as they are stored.

    Args:
        owner: The object whose address identifies these rows; it must live as long as they do.
    """

    def __init__(
        self, data: Any, origin: str, columns: Mapping[str, Any], *, owner: Any = None
    ) -> None:
        super().__init__(data, origin, columns)
        self._owner = owner
        require_columns(columns, data.column_names, origin)
        self._dataset = data.select_columns(list(columns)).with_format("arrow")

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return plain_rows(self._dataset[number])[0]

    def batches(self, column: str) -> Iterator[list[Any]]:
        for table in self._dataset.select_columns([column]).iter(BATCH):
            yield [row[column] for row in plain_rows(table)]


def plain_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a ``pyarrow.Table`` as plain values; images stay encoded.

    ``datasets`` stores a column of mixed types as JSON, which is decoded here.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    for field in table.schema:
        if str(field.type) == "extension<arrow.json>":
            for row in rows:
                value = row[field.name]
                row[field.name] = None if value is None else json_value(value)
    return rows


def require_columns(columns: Iterable[str], existing: Iterable[str], origin: str) -> None:
    """Raise ``MissingColumnError`` unless every column exists; the message lists those that do."""
    names = [str(name) for name in existing]
    for column in columns:
        if column not in names:
            raise MissingColumnError(
                f"There is no column {column!r} in {origin}.{near_names(column, names)} "
                f"It has: {', '.join(names) or 'none'}.",
                column,
            )


def checked(rows: Rows) -> Rows:
    """Check that there are rows and that every value has its column's type, and return ``rows``.

    Raises:
        DataError: There are no rows, or a value has the wrong type; the message names it.
    """
    if not len(rows):
        raise DataError(f"There are no rows in {rows.origin}.")
    for column, kind in rows.columns.items():
        start = 0
        for values in rows.batches(column):
            require_types(values, kind, f"of {rows.origin}, column {column!r}", start)
            start += len(values)
    return rows


def require_types(values: list[Any], kind: Any, where: str, start: int) -> None:
    """Raise ``DataError`` unless all values of a column have the given type.

    Args:
        values: The values.
        kind: The type, in any form that pydantic accepts; values are never converted.
        where: What the message calls the column.
        start: The row number of the first value.
    """
    if kind is Any:
        return
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only for reading rows

    try:
        TypeAdapter(list[kind]).validate_python(values, strict=True)
    except ValidationError as error:
        at = int(error.errors()[0]["loc"][0])
        name = kind.__name__ if type(kind) is type else str(kind)
        got = f"{_shortened(values[at])} ({type(values[at]).__name__})"
        raise DataError(f"Row {start + at} {where}: expected {name}, got {got}.") from None


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def checksum(value: Any) -> str:
    """Return a checksum of a plain value as 16 hexadecimal digits, the same in every process."""
    text = repr(value).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


_loaded: dict[Hashable, Future[Any]] = {}
_in_use: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def shared_with_process(key: Hashable, load: Callable[[], Shared]) -> Shared:
    """Return the result of ``load``, called once per process for each ``key``.

    A caller that arrives while another thread loads waits for that result, or gets its error. A
    call after a failure loads again.
    """
    with _lock:
        future = _loaded.get(key)
        if future is None:
            mine = _loaded[key] = Future()
    if future is not None:
        return future.result()  # type: ignore[no-any-return]
    try:
        loaded = load()
    except BaseException as error:
        with _lock:
            _loaded.pop(key, None)
        mine.set_exception(error)
        raise
    mine.set_result(loaded)
    return loaded


def shared_while_used(key: Hashable, make: Callable[[], Shared]) -> Shared:
    """Return the result of ``make``, shared between callers for as long as one of them holds it."""
    with _lock:
        found: Shared | None = _in_use.get(key)
    if found is None:
        found = make()
        with _lock:
            _in_use[key] = found
    return found


def forget_rows() -> None:
    """Forget all loaded rows: new environments load them again, existing ones keep theirs."""
    with _lock:
        _loaded.clear()
        _in_use.clear()
