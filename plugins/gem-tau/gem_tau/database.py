"""A database of an episode: records of a shared base, and those that the episode has touched.

The base is read-only and shared by all episodes of a process, so an episode costs what it changes.
A record is copied when it is first edited. Comparing two databases over one base compares the
changed records only.
"""

import contextlib
import copy
import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_tau.canonical import digest_of, same

__all__ = ["Base", "Change", "Database", "Record", "Write", "changes_between", "changes_of"]

Record = Any
"""A JSON value; usually a dict."""
_MOST_CHANGES = 200  # of one record that are listed singly


class _Deleted(enum.Enum):
    """Takes the place of a deleted record; an enum, so that pickles keep its identity."""

    GONE = 0


_GONE = _Deleted.GONE


class Base:
    """The tables that episodes share; nothing may change them.

    Args:
        tables: The records by table and by id.
        origin: A function and its arguments that return this base again, in any process. A
            snapshot then stores them instead of the tables. The function should keep its results.
    """

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, Record]],
        *,
        origin: tuple[Callable[..., "Base"], tuple[Any, ...]] | None = None,
    ) -> None:
        self.tables = tables
        self._origin = origin
        self._digest = ""

    @property
    def digest(self) -> str:
        """The digest of all tables, computed once."""
        if not self._digest:
            self._digest = digest_of(self.tables)
        return self._digest

    def __reduce__(self) -> tuple[Any, ...]:
        return self._origin or (Base, (self.tables,))

    def __deepcopy__(self, memo: object) -> "Base":
        return self


@dataclass(frozen=True)
class Write:
    """An entry of the write log: a record that was inserted, edited or deleted."""

    kind: str
    table: str
    id: str


@dataclass(frozen=True)
class Change:
    """A difference between two databases.

    Args:
        table: The table.
        id: The id of the record.
        path: Where in the record, such as ``items/0/price``; empty for the whole record.
        before: The value in the first database; None if it is not there.
        after: The value in the second one; None if it is not there.
    """

    table: str
    id: str
    path: str
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return dict(vars(self))


class Database:
    """Records over a base.

    Example:
        >>> base = Base({"orders": {"#1": {"status": "pending"}}})
        >>> db = Database(base)
        >>> db.edit("orders", "#1")["status"] = "cancelled"
        >>> db.get("orders", "#1"), base.tables["orders"]["#1"]
        ({'status': 'cancelled'}, {'status': 'pending'})
        >>> [(one.path, one.before, one.after) for one in db.diff()]
        [('status', 'pending', 'cancelled')]

    Args:
        base: The shared records.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self.writes: list[Write] = []
        """The write log, oldest first."""
        self._touched: dict[str, dict[str, Record]] = {}
        self._fresh: set[tuple[str, str]] = set()

    def get(self, table: str, record_id: str) -> Record | None:
        """Return a record to read, or None. Do not change it: use ``edit``."""
        touched = self._touched.get(table)
        if touched is not None and record_id in touched:
            record = touched[record_id]
            return None if record is _GONE else record
        return self.base.tables.get(table, {}).get(record_id)

    def edit(self, table: str, record_id: str) -> Record:
        """Return a record to change; the base keeps the old one.

        Raises:
            KeyError: There is no such record.
        """
        record = self.get(table, record_id)
        if record is None:
            raise KeyError(f"{table} has no record {record_id!r}")
        if (table, record_id) not in self._fresh:
            record = copy.deepcopy(record)
            self._put(table, record_id, record, "edit")
        return record

    def insert(self, table: str, record_id: str, record: Record) -> None:
        """Add a record.

        Raises:
            KeyError: There is a record with this id.
        """
        if self.get(table, record_id) is not None:
            raise KeyError(f"{table} has a record {record_id!r} already")
        self._put(table, record_id, record, "insert")

    def delete(self, table: str, record_id: str) -> None:
        """Remove a record.

        Raises:
            KeyError: There is no such record.
        """
        if self.get(table, record_id) is None:
            raise KeyError(f"{table} has no record {record_id!r}")
        self._put(table, record_id, _GONE, "delete")

    def _put(self, table: str, record_id: str, record: Record, kind: str) -> None:
        self._touched.setdefault(table, {})[record_id] = record
        self._fresh.add((table, record_id))
        self.writes.append(Write(kind, table, record_id))

    def records(self, table: str) -> Iterator[tuple[str, Record]]:
        """Yield the ids and records of a table: first those of the base, then new ones."""
        touched = self._touched.get(table, {})
        base = self.base.tables.get(table, {})
        for record_id, record in base.items():
            current = touched.get(record_id, record)
            if current is not _GONE:
                yield record_id, current
        for record_id, record in touched.items():
            if record_id not in base and record is not _GONE:
                yield record_id, record

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Undo all changes of a block that raises."""
        touched = {table: dict(records) for table, records in self._touched.items()}
        count = len(self.writes)
        self._fresh.clear()
        try:
            yield
        except BaseException:
            self._touched = touched
            del self.writes[count:]
            raise
        finally:
            self._fresh.clear()

    def changed(self) -> dict[str, dict[str, Record | None]]:
        """Return the records that differ from the base, by table and id; None if deleted."""
        found: dict[str, dict[str, Record | None]] = {}
        for table, records in sorted(self._touched.items()):
            base = self.base.tables.get(table, {})
            for record_id, record in sorted(records.items()):
                current = None if record is _GONE else record
                if not same(current, base.get(record_id)):
                    found.setdefault(table, {})[record_id] = current
        return found

    @property
    def digest(self) -> str:
        """The digest of the database: equal for equal content, however it came about."""
        return digest_of([self.base.digest, self.changed()])

    def equals(self, other: "Database") -> bool:
        """Return whether two databases over one base have the same content."""
        return same(self.changed(), other.changed())

    def diff(self) -> list[Change]:
        """Return the differences from the base."""
        return changes_between(Database(self.base), self)


def changes_between(first: Database, second: Database) -> list[Change]:
    """Return the differences between two databases over one base, in the order of their ids."""
    one, other = first.changed(), second.changed()
    found: list[Change] = []
    for table in sorted({*one, *other}):
        for record_id in sorted({*one.get(table, {}), *other.get(table, {})}):
            both = first.get(table, record_id), second.get(table, record_id)
            found += changes_of(table, record_id, *both)
    return found


def changes_of(table: str, record_id: str, before: Record, after: Record) -> list[Change]:
    """Return the differences between two contents of a record; None for one that is not there."""
    if same(before, after):
        return []
    parts = [
        Change(table, record_id, path, *(None if one is _GONE else one for one in both))
        for path, *both in _differences(before, after, "")
    ]
    return parts if len(parts) <= _MOST_CHANGES else [Change(table, record_id, "", before, after)]


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths at which two values differ, with both; ``_GONE`` for what is not there."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys: Iterable[Any] = dict.fromkeys([*before, *after])
        pairs = [(key, before.get(key, _GONE), after.get(key, _GONE)) for key in keys]
    elif isinstance(before, list) and isinstance(after, list):
        both = itertools.zip_longest(before, after, fillvalue=_GONE)
        pairs = [(index, *values) for index, values in enumerate(both)]
    else:
        if _GONE in (before, after) or not same(before, after):
            yield path, before, after
        return
    for key, old, new in pairs:
        if old is not new:
            yield from _differences(old, new, f"{path}/{key}" if path else str(key))
