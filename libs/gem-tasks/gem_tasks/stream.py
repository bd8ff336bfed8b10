"""Streamed rows, for datasets that are too large to store, shuffled within a buffer.

A cursor of a stream is reached by reading up to it. So a fork or a restored snapshot continues
exactly, but has to read the rows of its epoch again.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self

from gem_core.errors import ConfigError, DataError, GemError, HubError
from gem_core.seeding import child_seed
from gem_tasks.order import Cursor, Shard, Task
from gem_tasks.rows import plain_rows, require_columns, require_types

__all__ = ["BATCH", "BUFFER", "Stream", "StreamRows", "dataset_batches", "shuffled"]

BATCH = 100
"""The number of rows that are read and checked at a time."""
BUFFER = 1000
"""The number of rows in the shuffle buffer, and the most by which a row may move forward."""


class StreamRows:
    """The rows of a stream in order, shared by the environments of a process.

    Args:
        batches: Begins at the first row, and yields rows of the requested columns, checked.
        origin: What error messages call the source of the rows.
        columns: The name and type of each column to read.
        remote: Whether the rows come over the network.
    """

    version: str = ""
    """The version of the data, see ``gem_tasks.data_version``; empty if there is none."""
    _first: dict[str, Any]
    """The first row, which ``checked`` has read."""

    def __init__(
        self,
        batches: Callable[[], Iterator[list[dict[str, Any]]]],
        origin: str,
        columns: Mapping[str, Any],
        *,
        remote: bool,
    ) -> None:
        self._batches = batches
        self.origin = origin
        self.looked_at: set[Hashable] = set()
        self.columns = dict(columns)
        self._remote = remote

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Read all rows from the first.

        Raises:
            DataError: A column is missing, or a value has the wrong type.
            HubError: The connection was lost.
        """
        start = 0
        try:
            for rows in self._batches():
                start += len(rows)
                yield from rows
        except GemError:
            raise
        except Exception as error:
            kind = HubError if self._remote else DataError
            raise kind(
                f"{self.origin} could not be read beyond row {start}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def checked(self) -> Self:
        """Read the first rows to check them, and return ``self``.

        Raises:
            DataError: There are no rows, a column is missing, or a value has the wrong type.
            HubError: The connection was lost.
        """
        found = next(iter(self), None)
        if found is None:
            raise DataError(f"There are no rows in {self.origin}.")
        self._first = found
        return self

    def first_values(self, column: str) -> list[Any]:
        """Return the value of a column in the first row, after ``checked``."""
        return [self._first[column]]


def dataset_batches(
    dataset: Any, origin: str, columns: Mapping[str, Any], *, remote: bool = False
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a ``datasets.IterableDataset`` in lists of up to ``BATCH``.

    Raises:
        DataError: A column is missing, or a value has the wrong type.
    """
    start = 0
    for table in dataset.with_format("arrow").iter(BATCH):
        require_columns(columns, table.column_names, origin)
        rows = plain_rows(table.select(list(columns)))
        for column, kind in columns.items():
            values = [row[column] for row in rows]
            require_types(values, kind, origin, column, start, remote=remote)
        start += len(rows)
        yield rows


class Stream:
    """The order in which one environment reads a stream, with the methods of ``Order``.

    Args:
        rows: The rows.
        shuffle: Shuffle the rows within a buffer, differently in each epoch.
        shard: The part of the rows to use; each shard still reads all rows.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], *, shuffle: bool, shard: Shard) -> None:
        self._rows = rows
        self._shuffle = shuffle
        self._shard = shard
        self._next: Cursor | None = None
        self._reader: Iterator[dict[str, Any]] = iter(())

    def begin(self, rng: random.Random, *, seeded: bool) -> Cursor:
        """Return the first cursor of a new order."""
        return Cursor(rng.getrandbits(64), 0, 0)

    def read(self, cursor: Cursor) -> Task:
        """Return the row at ``cursor``, or the first of the next epoch if this one is over.

        Raises:
            DataError: The shard is empty.
        """
        if cursor != self._next:
            self._reader = islice(self._epoch(cursor), cursor.position, None)
        row = next(self._reader, None)
        if row is None and cursor.position == 0:
            raise DataError(f"Shard {self._shard.index}/{self._shard.count} is empty.")
        if row is None:
            return self.read(Cursor(cursor.key, cursor.epoch + 1, 0))
        self._next = self.after(cursor)
        return Task(cursor, None, row)

    def after(self, cursor: Cursor) -> Cursor:
        """Return the next cursor of the epoch, which may be beyond its end."""
        return cursor._replace(position=cursor.position + 1)

    def seek(self, idx: int, cursor: Cursor) -> Cursor:
        """Raise ``ConfigError``: the rows of a stream have no numbers."""
        raise ConfigError(f"Streamed rows have no numbers, so idx={idx!r} needs streaming=False.")

    def _epoch(self, cursor: Cursor) -> Iterator[dict[str, Any]]:
        if not self._shuffle:
            return self._part()
        rng = random.Random(child_seed(cursor.key, cursor.epoch))
        return shuffled(self._part(), rng, BUFFER)

    def _part(self) -> Iterator[dict[str, Any]]:
        return islice(self._rows, self._shard.index, None, self._shard.count)


def shuffled(rows: Iterable[Any], rng: random.Random, size: int) -> Iterator[Any]:
    """Yield each row once, drawn at random from the next ``size`` rows that are left."""
    rows = iter(rows)
    buffer = list(islice(rows, size))
    for row in rows:
        drawn = rng.randrange(size)
        buffer[drawn], row = row, buffer[drawn]  # noqa: PLW2901 - swapped
        yield row
    rng.shuffle(buffer)
    yield from buffer
