"""Draws and names that depend on their seed alone, on every version of Python.

Only ``random.Random.random`` is used, which Python promises to keep for a seed. Names are counted
through a scrambled sequence, so that no two products share one and none has to be remembered.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

__all__ = ["BRANDS", "MOST_NAMES", "Draw", "asin_of", "brand_of", "model_of"]

T = TypeVar("T")


def _words(text: str) -> list[str]:
    return text.split()


_STARTS = _words(
    """
    Bral Corv Drel Fenth Gorv Halm Jorv Kesp Lomb Morv Nald Ostr Pelv Quim Rusk Selv Torv Ulm Veld
    Zarn
    """
)
_ENDS = _words(
    """
    andra ebo ikka olo umix ettin abria iffo oxa undel avor emka irro ostel ubri aldo envy isco orpa
    uvia
    """
)
_SYLLABLES = [one + vowel for one in "bdfgkmz" for vowel in "aeiou"]
_TAILS = _words(
    """
    lix nor vax dun rel quo zen tha pim rok sul tev wyn xor yel bru dax fen gim huk jor kel lum mip
    nuv
    """
)
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

BRANDS = 7
"""How many brands a kind of products has."""
MOST_NAMES = len(_SYLLABLES) ** 3 * len(_TAILS)
"""How many products can have names that differ: 1,071,875."""


class Draw:
    """A source of draws.

    Args:
        key: What the draws depend on.
    """

    __slots__ = ("_next",)

    def __init__(self, *key: object) -> None:
        self._next = Random("/".join(map(str, key))).random

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self._next() < probability

    def between(self, low: float, high: float) -> float:
        """Return a number from ``low`` to ``high``."""
        return low + (high - low) * self._next()

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to ``limit - 1``."""
        return int(self._next() * limit)

    def pick(self, items: Sequence[T]) -> T:
        """Return one of some items."""
        return items[int(self._next() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return items in a drawn order."""
        rest = list(items)
        for last in range(len(rest) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            rest[last], rest[other] = rest[other], rest[last]
        return rest

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return ``count`` of some items, in their order."""
        chosen = sorted(self.shuffled(range(len(items)))[:count])
        return [items[number] for number in chosen]


def brand_of(kind: int, number: int) -> str:
    """Return an invented brand; two kinds have no brand in common.

    Args:
        kind: The number of the kind.
        number: 0 to 6.
    """
    start, end = divmod((kind * BRANDS + number) * 137 % 400, 20)
    return _STARTS[start] + _ENDS[end]


def model_of(number: int, offset: int) -> str:
    """Return the model name of a product, an invented word that no other product has."""
    rest, tail = divmod((number * 1_000_033 + offset) % MOST_NAMES, len(_TAILS))
    word = ""
    for _ in range(3):
        rest, syllable = divmod(rest, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return (word + _TAILS[tail]).capitalize()


def asin_of(number: int, offset: int) -> str:
    """Return the id of a product: ten upper-case letters and digits, of which B is the first."""
    rest = (number * 77_777_777_777_777 + offset) % 36**9
    digits = ""
    for _ in range(9):
        rest, digit = divmod(rest, 36)
        digits += _DIGITS[digit]
    return "B" + digits
