"""Which cases a test runs: some of many, and all of them in the nightly run."""

import os
from collections.abc import Iterable
from math import isqrt
from typing import TypeVar

__all__ = ["some", "thorough"]

T = TypeVar("T")


def thorough() -> bool:
    """Return whether all cases are wanted: ``.ci/run nightly`` sets ``GEM_TEST_THOROUGH``."""
    return bool(os.environ.get("GEM_TEST_THOROUGH"))


def some(cases: Iterable[T]) -> list[T]:
    """Return all cases in a thorough run; otherwise the first, the last, and some between them.

    Of n cases about the square root of n are chosen, at even distances and in their order.
    """
    every = list(cases)
    if thorough() or len(every) <= 2:
        return every
    last = max(2, isqrt(len(every))) - 1
    return [every[number * (len(every) - 1) // last] for number in range(last + 1)]
