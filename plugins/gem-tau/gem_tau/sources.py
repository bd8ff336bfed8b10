"""Where the tasks of an environment come from: a generator, or a folder."""

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol, runtime_checkable

from gem_core.errors import ConfigError, near_names
from gem_core.seeding import child_seed
from gem_core.specs import load_entry_point
from gem_tasks.order import permute
from gem_tau.task import DialogueTask, Part

__all__ = ["SOURCES", "DrawnTasks", "ListedTasks", "TaskSource", "find_tasks"]

SOURCES = {
    "retail-sample": "gem_tau.domains.retail_tasks:sample",
    "airline-sample": "gem_tau.domains.airline_tasks:sample",
    "retail": "gem_tau.readers:retail",
    "airline": "gem_tau.readers:airline",
}
"""The function of each named source; it takes ``data`` and ``split``."""
_BITS = 63


@runtime_checkable
class TaskSource(Protocol):
    """A source of tasks."""

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, DialogueTask]:
        """Return a task and its number, if it has one.

        Args:
            rng: The random stream of the environment.
            idx: The number of the task; None to draw one.

        Raises:
            ConfigError: There is no such task.
        """

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return the options of ``reset`` for episode ``number`` of a run."""

    def check(self, basis: Sequence[Part] | None, *, has_judge: bool) -> None:
        """Check that the tasks can be graded.

        Args:
            basis: The parts of the reward; None for each task's own.
            has_judge: Whether there is a judge.

        Raises:
            ConfigError: A task needs a judge and there is none.
        """


class ListedTasks:
    """A fixed list of tasks.

    Args:
        tasks: The tasks; at least one.
    """

    def __init__(self, tasks: Sequence[DialogueTask]) -> None:
        self.tasks = list(tasks)

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, DialogueTask]:
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

    def check(self, basis: Sequence[Part] | None, *, has_judge: bool) -> None:
        """Check that no task needs a judge, or that there is one."""
        needing = [
            task
            for task in self.tasks
            if "nl" in (task.reward_basis if basis is None else basis) and task.nl_assertions
        ]
        if needing and not has_judge:
            raise ConfigError(
                f"{len(needing)} of {len(self.tasks)} tasks have statements that a judge must "
                f"decide, for example {needing[0].id!r}. Pass judge=, the id of an agent, or leave "
                f"the part out: reward_basis=[db,communicate]."
            )


class DrawnTasks:
    """Endless tasks, each drawn from a seed.

    Args:
        draw: Returns the task of a seed, a 63-bit number; it must not need a judge.
    """

    def __init__(self, draw: Callable[[int], DialogueTask]) -> None:
        self._draw = draw

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, DialogueTask]:
        """Return a new task; there are no numbers."""
        if idx is not None:
            raise ConfigError(f"Generated tasks have no numbers; use seed= instead of idx={idx!r}.")
        return None, self._draw(rng.getrandbits(_BITS))

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return no options: the seed of an episode decides its task."""
        return {}

    def check(self, basis: Sequence[Part] | None, *, has_judge: bool) -> None:
        """Check nothing: no generated task has statements for a judge."""


def find_tasks(
    tasks: str | TaskSource,
    *,
    data: str | Path | None = None,
    split: str | None = None,
    exclude_free: bool = False,
    basis: Sequence[Part] | None = None,
) -> TaskSource:
    """Return a source of tasks.

    Args:
        tasks: A name in ``SOURCES``, or a source.
        data: A folder, for the sources that read one.
        split: The split; None for the source's default.
        exclude_free: Whether to leave out tasks that pay an agent which does nothing useful; see
            ``gem_tau.floors``.
        basis: The parts of the reward, for ``exclude_free``; None for each task's own.

    Raises:
        ConfigError: The name or the split is not known, or no task is left.
        DataError: The data cannot be read.
    """
    if isinstance(tasks, str):
        if tasks not in SOURCES:
            raise ConfigError(
                f"tasks has no {tasks!r}.{near_names(tasks, SOURCES)} "
                f"There are: {', '.join(SOURCES)}."
            )
        source: TaskSource = load_entry_point(SOURCES[tasks])(data=data, split=split)
    else:
        source = tasks
    if exclude_free and isinstance(source, ListedTasks):
        from gem_tau.floors import without_free_tasks  # noqa: PLC0415 - it plays dialogues

        source = ListedTasks(without_free_tasks(source.tasks, basis=basis))
    return source


def _index(idx: Any, count: int) -> int:
    is_number = hasattr(idx, "__index__") and not isinstance(idx, bool)
    number = operator.index(idx) if is_number else -1
    if not 0 <= number < count:
        raise ConfigError(f"idx must be from 0 to {count - 1}; got {idx!r}.")
    return number
