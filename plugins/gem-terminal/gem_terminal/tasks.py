"""Where the tasks of an environment come from: a folder, or a generator."""

import functools
import os
import warnings
from pathlib import Path

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock
from gem_tasks.task_source import DrawnTasks, ListedTasks, TaskSource
from gem_terminal.folders import TaskFolder, read_folder, sample_tasks
from gem_terminal.generated import Difficulty, generate_task
from gem_terminal.task import TerminalTask

__all__ = ["Tasks", "find_tasks"]

_FORMATS = ("harbor", "terminal-bench")
_LEVELS = ("easy", "hard")


_MOST_FOLDERS = 4
_read: dict[tuple[str, int], list[TaskFolder]] = {}
"""The folders that were read last."""
_reading = Lock()

Tasks = TaskSource[TerminalTask]
"""A source of terminal tasks."""


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
    difficulty: Difficulty = "hard" if tasks == "hard" else "easy"
    return DrawnTasks(functools.partial(generate_task, difficulty=difficulty))


def _of_folder(folder: Path, name: str) -> list[TerminalTask]:
    """Return the tasks of a folder in a format; warn of those that cannot be read."""
    found = [one for one in _read_once(folder) if one.format in {name, ""}]
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


def _read_once(folder: Path) -> list[TaskFolder]:
    """Return what ``read_folder`` does, and read again only what has changed.

    A run has many environments, which are made in several threads.
    """
    key = str(folder.resolve()), _stamp(folder)
    with _reading:
        if key not in _read:
            found = read_folder(folder)
            while len(_read) >= _MOST_FOLDERS:
                del _read[next(iter(_read))]
            _read[key] = found
        return _read[key]


def _stamp(folder: Path) -> int:
    """Return a number that changes with the names, times and sizes of files below a folder."""
    found: list[tuple[str, int, int]] = []
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        status = entry.stat(follow_symlinks=False)
                        found.append((entry.path, status.st_mtime_ns, status.st_size))
        except OSError:
            continue  # it is named when the folder is read
    return hash(tuple(sorted(found)))
