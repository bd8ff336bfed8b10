"""The order of rows: each epoch is a permutation that is computed, not stored.

A position in the order is a cursor of three integers. So an environment's state stays small,
thousands of environments share one dataset at no cost, and a fork continues exactly. The
permutation is a Feistel network over the next power of four; cycle walking keeps it inside the
range (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
"""

import functools
import operator
import random
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gem_core.errors import ConfigError, DataError

__all__ = ["Cursor", "Numbered", "Order", "Shard", "Task", "permute", "unpermute"]

_ROUNDS = 6
_MASK = (1 << 64) - 1
_FACTOR = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, an odd number: multiplying by it mixes the high bits."""
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")


class Cursor(NamedTuple):
    """The position of a row: the key of the order, the epoch, and the position in the epoch."""

    key: int
    epoch: int
    position: int


class Task(NamedTuple):
    """A row, with its cursor and its number in the dataset; streamed rows have no number."""

    cursor: Cursor
    idx: int | None
    row: dict[str, Any]


@dataclass(frozen=True)
class Shard:
    """The rows whose number is ``index`` modulo ``count``."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str | None) -> "Shard":
        """Parse ``"i/n"``; None stands for all rows.

        Raises:
            ConfigError: The text has another form, or ``0 <= i < n`` does not hold.
        """
        if text is None:
            return cls(0, 1)
        match = _SHARD.fullmatch(text) if isinstance(text, str) else None
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not shard.index < shard.count:
            raise ConfigError(
                f"shard must be 'i/n' with 0 <= i < n, such as '0/8' for the first of eight; "
                f"got {text!r}."
            )
        return shard


class Numbered(Protocol):
    """A sequence of rows."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Any: ...


class Order:
    """The mapping from cursors to rows; it has no mutable state.

    Args:
        rows: All rows.
        shuffle: Use a new permutation for each epoch; otherwise keep the order of the dataset.
        shard: The part of the rows to use.

    Raises:
        DataError: The shard is empty.
    """

    def __init__(self, rows: Numbered, *, shuffle: bool, shard: Shard) -> None:
        self._rows = rows
        self._shuffle = shuffle
        self._numbers = range(shard.index, len(rows), shard.count)
        if not self._numbers:
            raise DataError(
                f"Shard {shard.index}/{shard.count} is empty: there are {len(rows)} rows."
            )

    def begin(self, rng: random.Random, *, seeded: bool) -> Cursor:
        """Return the first cursor of a new order.

        Args:
            rng: The environment's generator.
            seeded: Whether a seed was given. If so, an unshuffled order starts at a random row,
                otherwise at the first.
        """
        key = rng.getrandbits(64)
        start_anywhere = seeded and not self._shuffle
        return Cursor(key, 0, rng.randrange(len(self._numbers)) if start_anywhere else 0)

    def read(self, cursor: Cursor) -> Task:
        """Return the row at ``cursor``."""
        number = self._number(cursor)
        return Task(cursor, number, self._rows[number])

    def _number(self, cursor: Cursor) -> int:
        position = cursor.position
        if self._shuffle:
            position = permute(position, len(self._numbers), _epoch_key(cursor))
        return self._numbers[position]

    def after(self, cursor: Cursor) -> Cursor:
        """Return the next cursor, which starts the next epoch if this one is over."""
        if cursor.position + 1 < len(self._numbers):
            return cursor._replace(position=cursor.position + 1)
        return Cursor(cursor.key, cursor.epoch + 1, 0)

    def row_number(self, position: int, key: int) -> int:
        """Return the number of the row at a position of an order that goes on over all epochs.

        Args:
            position: 0 or more. From ``len(self)`` on it is in a later epoch.
            key: Decides the permutations, in ``[0, 2**64)``.
        """
        epoch, position = divmod(position, len(self._numbers))
        return self._number(Cursor(key, epoch, position))

    def __len__(self) -> int:
        """Return the number of rows, those of other shards excluded."""
        return len(self._numbers)

    def seek(self, idx: int, cursor: Cursor) -> Cursor:
        """Return the cursor of row ``idx`` in the epoch of ``cursor``.

        Raises:
            ConfigError: There is no such row, or it belongs to another shard.
        """
        position = self._position(idx)
        if self._shuffle:
            position = unpermute(position, len(self._numbers), _epoch_key(cursor))
        return cursor._replace(position=position)

    def _position(self, idx: int) -> int:
        try:
            return self._numbers.index(operator.index(idx))
        except (TypeError, ValueError):
            pass
        step, start = self._numbers.step, self._numbers.start
        part = f" This shard has only rows {start}, {start + step}, and so on." if step > 1 else ""
        raise ConfigError(
            f"idx must be the number of a row, from 0 to {len(self._rows) - 1}; got {idx!r}.{part}"
        )


def permute(position: int, count: int, key: int) -> int:
    """Return the image of ``position`` under the permutation of ``range(count)`` of ``key``.

    Args:
        position: In ``[0, count)``.
        count: At least 1.
        key: In ``[0, 2**64)``.
    """
    half = _half_bits(count)
    mask = (1 << half) - 1
    keys = _round_keys(key)
    while True:
        left, right = position >> half, position & mask
        for round_key in keys:
            mixed = (right ^ round_key) * _FACTOR & _MASK
            left, right = right, left ^ (mixed >> 32 & mask)
        position = left << half | right
        if position < count:
            return position


def unpermute(image: int, count: int, key: int) -> int:
    """Return the position whose image is ``image``; the inverse of ``permute``."""
    half = _half_bits(count)
    mask = (1 << half) - 1
    keys = _round_keys(key)[::-1]
    while True:
        left, right = image >> half, image & mask
        for round_key in keys:
            mixed = (left ^ round_key) * _FACTOR & _MASK
            left, right = right ^ (mixed >> 32 & mask), left
        image = left << half | right
        if image < count:
            return image


def _half_bits(count: int) -> int:
    return max(1, ((count - 1).bit_length() + 1) // 2)


@functools.lru_cache(maxsize=1024)
def _round_keys(key: int) -> tuple[int, ...]:
    return tuple(_mixed(key ^ number) for number in range(_ROUNDS))


def _epoch_key(cursor: Cursor) -> int:
    return cursor.key ^ cursor.epoch * _FACTOR & _MASK


def _mixed(value: int) -> int:
    """Scramble 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31
