"""Where the tasks of an environment come from: a folder, or a generator."""

import operator
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_tasks.order import permute
from gem_terminal.task import TerminalTask

__all__ = ["GeneratedTasks", "ListedTasks", "Tasks"]


class Tasks(Protocol):
    """A source of tasks."""

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, TerminalTask]:
        """Return a task and its number, if it has one.

        Args:
            rng: The random stream of the environment.
            idx: The number of the task; None to draw one.

        Raises:
            ConfigError: There is no such task.
        """

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number`` of a run."""


class ListedTasks:
    """A fixed list of tasks: those of a folder.

    Args:
        tasks: The tasks.
    """

    def __init__(self, tasks: Sequence[TerminalTask]) -> None:
        self.tasks = list(tasks)

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, TerminalTask]:
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


class GeneratedTasks:
    """Endless tasks, drawn from the random stream of the environment.

    Args:
        generate: Draws a task.
    """

    def __init__(self, generate: Callable[[Random], TerminalTask]) -> None:
        self._generate = generate

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, TerminalTask]:
        """Return a new task; there are no numbers."""
        if idx is not None:
            raise ConfigError(f"Generated tasks have no numbers; use seed= instead of idx={idx!r}.")
        return None, self._generate(rng)

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return no options: the seed of an episode decides its task."""
        return {}


def _index(idx: Any, count: int) -> int:
    is_number = hasattr(idx, "__index__") and not isinstance(idx, bool)
    number = operator.index(idx) if is_number else -1
    if not 0 <= number < count:
        raise ConfigError(f"idx must be from 0 to {count - 1}; got {idx!r}.")
    return number
