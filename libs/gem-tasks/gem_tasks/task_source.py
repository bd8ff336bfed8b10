"""Sources of tasks that are objects: a fixed list, or a function of a seed.

An environment whose tasks are rows of a dataset is a ``TaskEnv`` and needs none of this.
"""

import bisect
import itertools
import math
import operator
from array import array
from collections.abc import Callable, Iterable, Sequence
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
        tasks: The tasks; at least one. A sequence that is not a list is used as it is.
        weights: How often each task is drawn, relative to the others, above 0; None for all alike.

    Raises:
        ConfigError: There are no tasks, or the weights do not fit them.
    """

    def __init__(self, tasks: Sequence[Task], *, weights: Iterable[float] | None = None) -> None:
        # A tuple is not copied: environments share it.
        self.tasks = tuple(tasks) if isinstance(tasks, list) else tasks
        if not self.tasks:
            raise ConfigError("There are no tasks.")
        self._sums = None if weights is None else _sums(weights, len(self.tasks))

    def draw(self, rng: Random, idx: int | None) -> tuple[int, Task]:
        """Return task ``idx``, or one drawn by the weights."""
        number = self._drawn(rng) if idx is None else _index(idx, len(self.tasks))
        return number, self.tasks[number]

    def _drawn(self, rng: Random) -> int:
        if self._sums is None:
            return rng.randrange(len(self.tasks))
        # The last sum is left out, so that rounding never leads beyond the last task.
        return bisect.bisect_right(
            self._sums, rng.random() * self._sums[-1], hi=len(self.tasks) - 1
        )

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


def _sums(weights: Iterable[float], count: int) -> "array[float]":
    """Return the running sums of the weights."""
    given = array("d", weights)
    if len(given) != count or not all(0 < weight < math.inf for weight in given):
        raise ConfigError(f"weights must have a positive number for each of the {count} tasks.")
    return array("d", itertools.accumulate(given))


def _index(idx: Any, count: int) -> int:
    is_number = hasattr(idx, "__index__") and not isinstance(idx, bool)
    number = operator.index(idx) if is_number else -1
    if not 0 <= number < count:
        raise ConfigError(f"idx must be from 0 to {count - 1}; got {idx!r}.")
    return number
