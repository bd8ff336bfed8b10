"""Rows that every environment of a process shares: read once, checked once, never copied.

A row is a dict of the columns that were asked for. Rows of files and of the hub stay in a
memory-mapped file; rows in memory stay the caller's own objects.
"""

import json
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from gem_core.errors import DataError, near_names

__all__ = [
    "DatasetRows",
    "ListRows",
    "Rows",
    "checked",
    "forget_rows",
    "plain_rows",
    "require_columns",
    "require_types",
    "shared_while_used",
    "shared_with_process",
]

BATCH = 1000
"""Rows that are checked at a time, so that a large dataset is never in memory as a whole."""

Shared = TypeVar("Shared")


class Rows(ABC):
    """Rows by number, read-only and shared.

    Args:
        source: What they are read from.
        origin: How messages call the source.
        columns: Name and type of each column that is read.
    """

    def __init__(self, source: Any, origin: str, columns: Mapping[str, Any]) -> None:
        self.source = source
        self.origin = origin
        self.columns = dict(columns)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return row ``number``: a new dict of column name to plain value."""

    @abstractmethod
    def batches(self, column: str) -> Iterator[list[Any]]:
        """Yield the values of a column, up to ``BATCH`` at a time."""


class ListRows(Rows):
    """Rows of a list of mappings; see ``Rows``."""

    source: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, number: int) -> dict[str, Any]:
        row = self.source[number]
        return {name: row[name] for name in self.columns}

    def batches(self, column: str) -> Iterator[list[Any]]:
        for start in range(0, len(self), BATCH):
            numbers = range(start, min(start + BATCH, len(self)))
            yield [self._value(number, column) for number in numbers]

    def _value(self, number: int, column: str) -> Any:
        row = self.source[number]
        if not isinstance(row, Mapping):
            raise DataError(
                f"Row {number} of {self.origin} is no mapping of columns to values; "
                f"got {_shortened(row)}."
            )
        if column not in row:
            require_columns([column], row, f"row {number} of {self.origin}")
        return row[column]


class DatasetRows(Rows):
    """Rows of a ``datasets.Dataset``; see ``Rows``. Images are left as they are stored.

    Args:
        owner: What must stay as long as the rows: their key in the process holds its address.
    """

    def __init__(
        self, source: Any, origin: str, columns: Mapping[str, Any], *, owner: Any = None
    ) -> None:
        super().__init__(source, origin, columns)
        self._owner = owner
        require_columns(columns, source.column_names, origin)
        self._dataset = source.select_columns(list(columns)).with_format("arrow")

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return plain_rows(self._dataset[number])[0]

    def batches(self, column: str) -> Iterator[list[Any]]:
        for table in self._dataset.select_columns([column]).iter(BATCH):
            yield [row[column] for row in plain_rows(table)]


def plain_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a ``pyarrow.Table`` as plain values; images stay encoded.

    A column whose values are of several types is stored as JSON.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    for field in table.schema:
        if str(field.type) == "extension<arrow.json>":
            for row in rows:
                value = row[field.name]
                row[field.name] = None if value is None else json.loads(value)
    return rows


def require_columns(columns: Iterable[str], existing: Iterable[str], origin: str) -> None:
    """Raise ``DataError`` unless every column exists; the message lists those that do."""
    names = [str(name) for name in existing]
    for column in columns:
        if column not in names:
            raise DataError(
                f"There is no column {column!r} in {origin}.{near_names(column, names)} "
                f"It has: {', '.join(names) or 'none'}."
            )


def checked(rows: Rows) -> Rows:
    """Return ``rows`` after checking that there are some, and every value against its type.

    Raises:
        DataError: There is no row, or a value is of another type; the message names it.
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
    """Raise ``DataError`` unless all values of a column are of a type.

    Args:
        values: The values.
        kind: The type, as pydantic understands types; no value is converted to it.
        where: How the message calls the column.
        start: Number of the row of the first value.
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


_loaded: dict[Hashable, Future[Any]] = {}
_in_use: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def shared_with_process(key: Hashable, load: Callable[[], Shared]) -> Shared:
    """Return what ``load`` gives, calling it once in the process for each ``key``.

    Whoever asks while another thread loads waits for it, and gets its error if it fails; who asks
    after a failure tries again.
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
    """Return what ``make`` gives, calling it again for a ``key`` only when nobody holds it."""
    with _lock:
        found: Shared | None = _in_use.get(key)
    if found is None:
        found = make()
        with _lock:
            _in_use[key] = found
    return found


def forget_rows() -> None:
    """Forget all rows that were loaded: the next environment loads anew, others keep theirs."""
    with _lock:
        _loaded.clear()
        _in_use.clear()
