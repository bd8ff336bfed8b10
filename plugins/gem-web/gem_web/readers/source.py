"""The result of every reader: a source of products and goals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gem_web.product import Goal, Product

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """A catalogue to convert.

    Args:
        products: Returns the products, one after the other.
        goals: Returns the goals of each split, after the products were read.
        origin: What it is, for the manifest.
    """

    products: Callable[[], Iterator[Product]]
    goals: Callable[[], Mapping[str, Sequence[Goal]]]
    origin: str
