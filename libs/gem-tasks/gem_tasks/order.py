"""The order of tasks: each epoch is a permutation that is computed, not stored.

A place in the order is three numbers, so that an environment's state stays small, thousands of
environments cost nothing, and a fork goes on exactly. The permutation is a Feistel network over
the next power of four, walked until it falls inside the range (Black and Rogaway 2002, "Ciphers
with arbitrary finite domains").
"""

import functools
import operator
import random
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gem_core.errors import ConfigError, DataError

__all__ = ["Numbered", "Order", "Place", "Shard", "Task", "permute", "unpermute"]

_ROUNDS = 6
_MASK = (1 << 64) - 1
_FACTOR = 0x9E3779B97F4A7C15
"""Odd and without structure: multiplied by it, the low bits decide the high ones."""
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")


class Place(NamedTuple):
    """Where a row stands: the key of the order, the epoch, the position in the epoch."""

    key: int
    epoch: int
    position: int


class Task(NamedTuple):
    """A row with its place and its number in the dataset; a stream does not number its rows."""

    place: Place
    idx: int | None
    row: dict[str, Any]


@dataclass(frozen=True)
class Shard:
    """The rows whose number leaves ``index`` when divided by ``count``."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str | None) -> "Shard":
        """Read ``"i/n"``; None is the whole.

        Raises:
            ConfigError: It is of another form, or not ``0 <= i < n``.
        """
        if text is None:
            return cls(0, 1)
        match = _SHARD.fullmatch(text) if isinstance(text, str) else None
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not shard.index < shard.count:
            raise ConfigError(
                f"shard is 'i/n' with 0 <= i < n, as '0/8' for the first of eight; got {text!r}."
            )
        return shard


class Numbered(Protocol):
    """Rows that can be taken by number."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Any: ...


class Order:
    """Which row comes at which place; it holds no state of its own.

    Args:
        rows: All rows.
        shuffle: A new permutation for each epoch; otherwise the rows' own order.
        shard: The part of the rows to take.

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

    def begin(self, rng: random.Random, *, seeded: bool) -> Place:
        """Return the first place: of a new permutation, or at a random row if not shuffled.

        Args:
            rng: The environment's generator.
            seeded: Whether a seed was given; without one, an unshuffled order begins at its start.
        """
        key = rng.getrandbits(64)
        anywhere = seeded and not self._shuffle
        return Place(key, 0, rng.randrange(len(self._numbers)) if anywhere else 0)

    def read(self, place: Place) -> Task:
        """Return the row at ``place``."""
        position = place.position
        if self._shuffle:
            position = permute(position, len(self._numbers), _epoch_key(place))
        number = self._numbers[position]
        return Task(place, number, self._rows[number])

    def after(self, place: Place) -> Place:
        """Return the next place, in the next epoch if this one is over."""
        if place.position + 1 < len(self._numbers):
            return place._replace(position=place.position + 1)
        return Place(place.key, place.epoch + 1, 0)

    def row_number(self, position: int) -> int:
        """Return the number of the row at a position of the unshuffled order, round and round."""
        return self._numbers[position % len(self._numbers)]

    def find(self, idx: int, place: Place) -> Place:
        """Return where row ``idx`` stands in the epoch of ``place``.

        Raises:
            ConfigError: There is no such row, or it belongs to another shard.
        """
        position = self._position(idx)
        if self._shuffle:
            position = unpermute(position, len(self._numbers), _epoch_key(place))
        return place._replace(position=position)

    def _position(self, idx: int) -> int:
        try:
            return self._numbers.index(operator.index(idx))
        except (TypeError, ValueError):
            pass
        step, start = self._numbers.step, self._numbers.start
        part = f" This shard holds every {step}th row from {start} on." if step > 1 else ""
        raise ConfigError(
            f"idx is the number of a row, from 0 to {len(self._rows) - 1}; got {idx!r}.{part}"
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
    """Return the position whose image is ``image``: the inverse of ``permute``."""
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
    return tuple(_mixed(key ^ turn) for turn in range(_ROUNDS))


def _epoch_key(place: Place) -> int:
    return place.key ^ place.epoch * _FACTOR & _MASK


def _mixed(value: int) -> int:
    """Scramble 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31
