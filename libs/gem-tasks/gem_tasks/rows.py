"""Rows that the environments of a process share: read once, checked once, never copied.

A row is a dict of the requested columns. Rows of parquet files and of the hub stay in a
memory-mapped file, see ``gem_tasks.file_rows`` for those of other files, and rows in memory stay
the caller's own objects.
"""

import hashlib
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from gem_core.errors import DataError, near_names
from gem_core.lifetimes import Lock
from gem_tasks.golds import Answer, require_golds
from gem_tasks.json_values import exact_json, exact_repr
from gem_tasks.single_flight import SingleFlight

__all__ = [
    "BATCH",
    "INSPECTOR",
    "DatasetRows",
    "Inspector",
    "ListRows",
    "MissingColumnError",
    "Rows",
    "checked",
    "checksum",
    "forget_rows",
    "misfits",
    "mismatch",
    "plain_rows",
    "require_columns",
    "require_types",
    "shared_while_used",
    "shared_with_process",
    "shortened",
]

BATCH = 1000
"""The number of rows that are checked at a time, which bounds the memory of a check."""

Shared = TypeVar("Shared")


class Inspector(Protocol):
    """What is shown the columns and the values of rows while they are loaded."""

    def needs(self, columns: Mapping[str, Any]) -> None:
        """Take the name and the type of each column that an environment reads."""

    def look(self, values: list[Any], kind: Any, origin: str, column: str, start: int) -> None:
        """Take some values of a column; see ``require_types``."""


INSPECTOR: ContextVar[Inspector | None] = ContextVar("INSPECTOR", default=None)
"""The inspector of the rows that are loaded now: it takes every value, of any type, where a load
would end with an error at the first wrong one. Forget the rows when it is done."""


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
        origin: What error messages call the data.
        columns: The name and type of each column to read.
    """

    remote = False
    """Whether the rows are on the hub."""
    looked_at: set[Hashable]
    """The columns that an environment has checked for all that share these rows."""
    version: str = ""
    """The version of the data, see ``gem_tasks.data_version``; empty if there is none."""
    data: Any
    """The list, the ``datasets.Dataset`` or another sequence that contains the rows."""

    def __init__(self, origin: str, columns: Mapping[str, Any]) -> None:
        self.origin = origin
        self.looked_at: set[Hashable] = set()
        self.columns = dict(columns)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return row ``number``: a new dict from column names to plain values."""

    def batches(self, column: str) -> Iterator[list[Any]]:
        """Yield the values of a column, up to ``BATCH`` at a time."""
        for start in range(0, len(self), BATCH):
            numbers = range(start, min(start + BATCH, len(self)))
            yield [self._value(number, column) for number in numbers]

    def first_values(self, column: str) -> list[Any]:
        """Return the values of a column in the first rows."""
        return next(self.batches(column))

    def _value(self, number: int, column: str) -> Any:
        return self[number][column]


class ListRows(Rows):
    """The rows of a list of mappings; see ``Rows``."""

    def __init__(
        self, data: Sequence[Mapping[str, Any]], origin: str, columns: Mapping[str, Any]
    ) -> None:
        super().__init__(origin, columns)
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, number: int) -> dict[str, Any]:
        row = self.data[number]
        return {name: row[name] for name in self.columns}

    def _value(self, number: int, column: str) -> Any:
        row = self.data[number]
        if not isinstance(row, Mapping):
            raise DataError(
                f"Row {number} of {self.origin} is not a mapping from columns to values; "
                f"got {shortened(row)}."
            )
        if column not in row:
            require_columns([column], row, f"row {number} of {self.origin}")
        return row[column]


class DatasetRows(Rows):
    """The rows of a ``datasets.Dataset``; see ``Rows``. Images are left as they are stored.

    Args:
        owner: The object whose address identifies these rows; it must live as long as they do.
        remote: Whether the rows are on the hub.
    """

    def __init__(
        self,
        data: Any,
        origin: str,
        columns: Mapping[str, Any],
        *,
        owner: Any = None,
        remote: bool = False,
    ) -> None:
        super().__init__(origin, columns)
        self.data, self.remote = data, remote
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

    ``datasets`` stores values of mixed types as JSON, at any depth, which is decoded here.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    for field in table.schema:
        decode = _decoder(field.type)
        if decode is not None:
            for row in rows:
                row[field.name] = decode(row[field.name])
    return rows


def _decoder(kind: Any) -> Callable[[Any], Any] | None:
    """Return the decoder of the JSON in the values of a ``pyarrow`` type; None without JSON."""
    if getattr(kind, "extension_name", "") == "arrow.json":
        return _or_none(exact_json)
    if hasattr(kind, "value_field"):
        decode = _decoder(kind.value_type)
        return decode and _or_none(lambda values: [decode(value) for value in values])
    names = [kind.field(number).name for number in range(kind.num_fields)]
    decoders = {name: _decoder(kind.field(name).type) for name in names}
    found = {name: decode for name, decode in decoders.items() if decode is not None}
    if not found:
        return None
    return _or_none(lambda row: row | {name: decode(row[name]) for name, decode in found.items()})


def _or_none(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else decode(value)


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
            require_types(values, kind, rows.origin, column, start, remote=rows.remote)
            start += len(values)
    return rows


def require_types(
    values: list[Any], kind: Any, origin: str, column: str, start: int, *, remote: bool = False
) -> None:
    """Raise ``DataError`` unless all values of a column have the given type.

    Args:
        values: The values.
        kind: The type, in any form that pydantic accepts; values are never converted. An
            ``Answer`` must not be empty.
        origin: What the message calls the data.
        column: The name of the column.
        start: The row number of the first value.
        remote: The rows are on the hub: only warn of empty answers.
    """
    if (inspector := INSPECTOR.get()) is not None:
        inspector.look(values, kind, origin, column, start)
        return
    where = f"of {origin}, column {column!r}"
    if wrong := misfits(values, kind):
        raise DataError(f"Row {start + wrong[0]} {where}: {mismatch(values[wrong[0]], kind)}.")
    if kind is Answer:
        require_golds(values, where, start, remote=remote)


def misfits(values: list[Any], kind: Any) -> list[int]:
    """Return the places of the values that do not have a type."""
    if kind is Any:
        return []
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only for reading rows

    try:
        TypeAdapter(list[kind]).validate_python(values, strict=True)
    except ValidationError as error:
        return sorted({int(one["loc"][0]) for one in error.errors()})
    return []


def mismatch(value: Any, kind: Any) -> str:
    """Return what was expected of a value, and what it is."""
    name = kind.__name__ if type(kind) is type else str(kind)
    return f"expected {name}, got {shortened(value)} ({type(value).__name__})"


def shortened(value: Any) -> str:
    """Return the text of a value for an error message, at most 80 characters."""
    text = exact_repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def checksum(value: Any) -> str:
    """Return a checksum of a plain value as 16 hexadecimal digits, the same in every process."""
    text = exact_repr(value).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


_loaded: dict[Hashable, Any] = {}
_loading = SingleFlight()
_in_use: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
_lock = Lock()


def shared_with_process(key: Hashable, load: Callable[[], Shared]) -> Shared:
    """Return the result of ``load``, called once per process for each ``key``.

    A caller that arrives while another thread loads waits for that result, or gets its error. A
    call after a failure loads again. A fork has the results of its parent, and loads anew what the
    parent had not finished.
    """
    loaded = _loaded

    def loaded_once() -> Shared:
        if key not in loaded:
            loaded[key] = load()
        return loaded[key]  # type: ignore[no-any-return]

    return loaded[key] if key in loaded else _loading.get(key, loaded_once)


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
    global _loaded  # noqa: PLW0603 - what is being loaded now goes into the old one
    with _lock:
        _loaded = {}
        _in_use.clear()
