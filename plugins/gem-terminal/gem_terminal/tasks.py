"""Where the tasks of an environment come from: a folder, or a generator."""

import operator
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed
from gem_tasks.order import permute
from gem_terminal.folders import read_folder, sample_tasks
from gem_terminal.generated import Difficulty, generate_task
from gem_terminal.task import TerminalTask

__all__ = ["GeneratedTasks", "ListedTasks", "Tasks", "find_tasks"]

_FORMATS = ("harbor", "terminal-bench")
_BITS = 63
_LEVELS = ("easy", "hard")


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
        difficulty: ``easy`` or ``hard``.
    """

    def __init__(self, difficulty: Difficulty) -> None:
        self._difficulty: Difficulty = difficulty

    def draw(self, rng: Random, idx: int | None) -> tuple[int | None, TerminalTask]:
        """Return a new task; there are no numbers."""
        if idx is not None:
            raise ConfigError(f"Generated tasks have no numbers; use seed= instead of idx={idx!r}.")
        return None, generate_task(rng.getrandbits(_BITS), difficulty=self._difficulty)

    def reset_options(self, number: int, seed: int | None) -> dict[str, Any]:
        """Return no options: the seed of an episode decides its task."""
        return {}


def find_tasks(tasks: str | Tasks, data: str | Path | None) -> Tasks:
    """Return a source of tasks; see ``TerminalEnv`` for the arguments.

    Raises:
        ConfigError: The name is not known, or the folder has no task that can be read.
    """
    if not isinstance(tasks, str):
        return tasks
    if tasks not in {"sample", *_LEVELS, *_FORMATS}:
        known = ", ".join(("sample", *_LEVELS, *_FORMATS))
        raise ConfigError(f"tasks must be one of {known}, or an object; got {tasks!r}.")
    if (tasks in _FORMATS) != (data is not None):
        wanted = "needs data=, a folder of tasks" if tasks in _FORMATS else "takes no data="
        raise ConfigError(f"tasks={tasks!r} {wanted}; got {data!r}.")
    if data is not None:
        return ListedTasks(_of_folder(Path(data).expanduser(), tasks))
    if tasks == "sample":
        return ListedTasks(sample_tasks())
    return GeneratedTasks("hard" if tasks == "hard" else "easy")


def _of_folder(folder: Path, name: str) -> list[TerminalTask]:
    """Return the tasks of a folder in a format; warn of those that cannot be read."""
    found = [one for one in read_folder(folder) if one.format in {name, ""}]
    tasks = [one.task for one in found if one.task is not None]
    refused = [f"{one.path}: {one.refusal}" for one in found if one.task is None]
    how = f"`gem-core terminal tasks {folder}` lists all with the reasons"
    if not tasks:
        first = f" The first problem: {refused[0]}" if refused else ""
        raise ConfigError(f"No task of the format {name} can be read in {folder}; {how}.{first}")
    if refused:
        warnings.warn(
            f"{len(refused)} of {len(found)} tasks in {folder} are left out; {how}. The first: "
            f"{refused[0]}",
            stacklevel=4,
        )
    return tasks


def _index(idx: Any, count: int) -> int:
    is_number = hasattr(idx, "__index__") and not isinstance(idx, bool)
    number = operator.index(idx) if is_number else -1
    if not 0 <= number < count:
        raise ConfigError(f"idx must be from 0 to {count - 1}; got {idx!r}.")
    return number
