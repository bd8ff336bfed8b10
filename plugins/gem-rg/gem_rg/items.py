"""What travels between an environment and the workers, as plain values.

Nothing here imports reasoning_gym, and what only its scorers understand stays pickled, so that
reading an item does not import it either.
"""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Item", "Recipe"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What makes a dataset, all but its seed.

    Args:
        name: The task.
        size: Number of items.
        config: Values of the task's config, as a JSON object.
        level: Level of the task's curriculum as JSON: a number, an object of attributes to
            numbers, or null.
    """

    name: str
    size: int
    config: str = "{}"
    level: str = "null"


class Item(NamedTuple):
    """One item of a dataset.

    Attributes:
        question: What is asked.
        gold: An answer that scores 1; None if the dataset has none.
        task: Whose item it is, of the tasks that a composite mixes.
        entry: The rest of reasoning-gym's entry, pickled, for scoring.
        build_seconds: How long the worker took to build the dataset, before the item.
    """

    question: str
    gold: str | None
    task: str
    entry: bytes
    build_seconds: float
