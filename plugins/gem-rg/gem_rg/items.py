"""The values that environments and workers exchange.

Nothing here imports reasoning_gym. The part of an item that only its scorer needs stays pickled,
so that loading an item does not import reasoning_gym either.
"""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Item", "Recipe"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The definition of a dataset, without its seed.

    Args:
        name: The task.
        size: The number of items.
        config: The values of the task's config, as a JSON object.
        level: The level of the task's curriculum as JSON: a number, an object that maps attributes
            to numbers, or null.
    """

    name: str
    size: int
    config: str = "{}"
    level: str = "null"


class Item(NamedTuple):
    """One item of a dataset.

    Attributes:
        question: The question.
        gold: An answer that scores 1; None if the dataset provides none.
        task: The task of the item, which in a composite is one of several.
        entry: The rest of reasoning-gym's entry, pickled, for scoring.
        build_seconds: The time in seconds in which the worker built the dataset.
    """

    question: str
    gold: str | None
    task: str
    entry: bytes
    build_seconds: float
