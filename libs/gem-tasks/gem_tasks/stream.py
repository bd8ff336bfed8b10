"""Tasks from a stream, for datasets too large to store: rows in order, through a shuffle buffer.

A place in a stream is reached by reading up to it. So a fork or a restored snapshot goes on
exactly, and costs the reading of its epoch so far.
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self

from gem_core.errors import ConfigError, DataError, GemError, HubError
from gem_core.seeding import child_seed
from gem_tasks.order import Place, Shard, Task
from gem_tasks.rows import plain_rows, require_columns, require_types

__all__ = ["BUFFER", "Stream", "StreamRows", "shuffled"]

BATCH = 100
"""Rows that are read and checked at a time."""
BUFFER = 1000
"""Rows of the shuffle buffer: a row comes out at most about so many rows before its turn."""


class StreamRows:
    """Rows in order, shared by the streams of a process.

    Args:
        dataset: A ``datasets.IterableDataset``.
        origin: How messages call where the rows come from.
        columns: Name and type of each column that is read.
        remote: Whether they come over the network.
    """

    def __init__(
        self, dataset: Any, origin: str, columns: Mapping[str, Any], *, remote: bool
    ) -> None:
        self._dataset = dataset
        self.origin = origin
        self.columns = dict(columns)
        self._remote = remote

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Read all rows from the first on.

        Raises:
            DataError: A column is missing, or a value is of another type.
            HubError: The connection broke off.
        """
        start = 0
        try:
            for table in self._dataset.with_format("arrow").iter(BATCH):
                require_columns(self.columns, table.column_names, self.origin)
                rows = plain_rows(table.select(list(self.columns)))
                self._check(rows, start)
                start += len(rows)
                yield from rows
        except GemError:
            raise
        except Exception as error:
            kind = HubError if self._remote else DataError
            raise kind(
                f"{self.origin} could not be read on after row {start}: "
                f"{type(error).__name__}: {error}"
            ) from error

    def checked(self) -> Self:
        """Return itself after reading the first rows.

        Raises:
            DataError: There are none, a column is missing, or a value is of another type.
            HubError: The connection broke off.
        """
        if next(iter(self), None) is None:
            raise DataError(f"There are no rows in {self.origin}.")
        return self

    def _check(self, rows: list[dict[str, Any]], start: int) -> None:
        for column, kind in self.columns.items():
            values = [row[column] for row in rows]
            require_types(values, kind, f"of {self.origin}, column {column!r}", start)


class Stream:
    """One environment's way through the rows of a stream; it has the methods of ``Order``.

    Args:
        rows: The rows.
        shuffle: Shuffle them within a buffer, in a new way each epoch.
        shard: The part of the rows to take; each shard reads all of them.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], *, shuffle: bool, shard: Shard) -> None:
        self._rows = rows
        self._shuffle = shuffle
        self._shard = shard
        self._next: Place | None = None
        self._reader: Iterator[dict[str, Any]] = iter(())

    def begin(self, rng: random.Random, *, seeded: bool) -> Place:
        """Return the first place of a new order."""
        return Place(rng.getrandbits(64), 0, 0)

    def read(self, place: Place) -> Task:
        """Return the row at ``place``, or the first of the next epoch if this one is over.

        Raises:
            DataError: The shard is empty.
        """
        if place != self._next:
            self._reader = islice(self._epoch(place), place.position, None)
        row = next(self._reader, None)
        if row is None and place.position == 0:
            raise DataError(f"Shard {self._shard.index}/{self._shard.count} is empty.")
        if row is None:
            return self.read(Place(place.key, place.epoch + 1, 0))
        self._next = self.after(place)
        return Task(place, None, row)

    def after(self, place: Place) -> Place:
        """Return the next place of the epoch, which may be beyond its end."""
        return place._replace(position=place.position + 1)

    def find(self, idx: int, place: Place) -> Place:
        """Refuse: the rows of a stream have no numbers."""
        raise ConfigError(f"A stream has no row {idx!r} to take: idx= needs streaming=False.")

    def _epoch(self, place: Place) -> Iterator[dict[str, Any]]:
        if not self._shuffle:
            return self._part()
        rng = random.Random(child_seed(place.key, place.epoch))
        return shuffled(self._part(), rng, BUFFER)

    def _part(self) -> Iterator[dict[str, Any]]:
        return islice(self._rows, self._shard.index, None, self._shard.count)


def shuffled(rows: Iterable[Any], rng: random.Random, size: int) -> Iterator[Any]:
    """Yield each of ``rows`` once, each drawn from the next ``size`` that are left."""
    rows = iter(rows)
    buffer = list(islice(rows, size))
    for row in rows:
        drawn = rng.randrange(size)
        buffer[drawn], row = row, buffer[drawn]  # noqa: PLW2901 - swapped
        yield row
    rng.shuffle(buffer)
    yield from buffer
