"""Sources of tasks that are objects: a fixed list, or a function of a seed.

An environment whose tasks are rows of a dataset is a ``TaskEnv`` and needs none of this.
"""

import operator
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_tasks.order import permute

__all__ = ["DrawnTasks", "ListedTasks", "TaskSource"]

Task = TypeVar("Task")
Drawn_co = TypeVar("Drawn_co", covariant=True)
_BITS = 63


class TaskSource(Protocol[Drawn_co]):
    """A source of tasks."""

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, Drawn_co]:
        """Return a task and its number, if it has one.

        Args:
            rng: The random stream of the environment.
            idx: The number of the task; None to draw one.

        Raises:
            ConfigError: There is no such task.
        """

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number`` of a run."""


class ListedTasks(Generic[Task]):
    """A fixed list of tasks.

    Args:
        tasks: The tasks; at least one.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tuple(tasks)  # a tuple is not copied: environments share it

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, Task]:
        """Return task ``idx``, or one drawn with equal probability."""
        count = len(self.tasks)
        number = rng.randrange(count) if idx is None else _index(idx, count)
        return number, self.tasks[number]

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return each task once, in an order that the seed of the run decides, then once more."""
        if seed is None:
            return {}
        epoch, position = divmod(number, len(self.tasks))
        return {"idx": permute(position, len(self.tasks), child_seed(seed, "rows", epoch))}


class DrawnTasks(Generic[Task]):
    """Endless tasks, each drawn from a seed.

    Args:
        draw: Returns the task of a seed, a 63-bit number.
    """

    def __init__(self, draw: Callable[[int], Task]) -> None:
        self._draw = draw

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, Task]:
        """Return a new task; there are no numbers."""
        if idx is not None:
            raise ConfigError(f"Generated tasks have no numbers; use seed= instead of idx={idx!r}.")
        return None, self._draw(rng.getrandbits(_BITS))

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return no options: the seed of an episode decides its task."""
        return {}


def _index(idx: Any, count: int) -> int:
    is_number = hasattr(idx, "__index__") and not isinstance(idx, bool)
    number = operator.index(idx) if is_number else -1
    if not 0 <= number < count:
        raise ConfigError(f"idx must be from 0 to {count - 1}; got {idx!r}.")
    return number
