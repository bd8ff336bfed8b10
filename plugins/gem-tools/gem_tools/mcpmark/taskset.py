"""Finds the tasks of a task set in the folder format of the MCPMark benchmark.

A task is a folder with ``description.md``, the instruction; ``verify.py``, a program that exits
with status 0 if the task was done; and ``meta.json``, of which ``category_id`` and ``mcp``, the
services, are read. The initial state of a task has the name of its category.
"""

import functools
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, DataError, near_names
from gem_core.records import json_value

__all__ = ["find_tasks", "folder_of"]

_PACKAGE = "package://"


def folder_of(path: str | os.PathLike[str], *, must_exist: bool = True) -> Path:
    """Return the folder of a path, or of ``package://package/folder``.

    Raises:
        DataError: There is no such folder.
    """
    text = os.fspath(path)
    if text.startswith(_PACKAGE):
        package, _, rest = text.removeprefix(_PACKAGE).partition("/")
        folder = Path(str(files(package))) / rest
    else:
        folder = Path(text).expanduser().resolve()
    if must_exist and not folder.is_dir():
        raise DataError(f"There is no folder {text!r} of tasks or environments.")
    return folder


@functools.lru_cache(maxsize=16)
def find_tasks(root: Path, select: str) -> list[dict[str, Any]]:
    """Return the tasks under a folder by name, which is the path of each from there.

    Args:
        root: The folder.
        select: ``all``, or beginnings of names: ``category`` or ``category/task``, several of which
            are separated by commas.

    Returns:
        Dicts with ``name``, ``category``, ``folder`` and ``service``, which is empty if
        ``meta.json`` names none; the same list each time.

    Raises:
        DataError: There are no tasks, or a ``meta.json`` cannot be read.
        ConfigError: None is selected.
    """
    tasks = [
        _task(root, description.parent)
        for description in sorted(root.rglob("description.md"))
        if (description.parent / "verify.py").is_file()
    ]
    if not tasks:
        raise DataError(
            f"There are no tasks under {str(root)!r}: a task is a folder with description.md and "
            f"verify.py."
        )
    if select == "all":
        return tasks
    wanted = [one.strip() for one in select.split(",")]
    for one in wanted:
        if not any(_is_in(task, one) for task in tasks):
            names = sorted({task["name"] for task in tasks} | {task["category"] for task in tasks})
            raise ConfigError(
                f"No task is called {one!r}.{near_names(one, names)} "
                f"Ask for 'all', a category or a task."
            )
    return [task for task in tasks if any(_is_in(task, one) for one in wanted)]


def _is_in(task: dict[str, Any], name: str) -> bool:
    return f"{task['name']}/".startswith(f"{name}/")


def _task(root: Path, folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    try:
        meta = json_value(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise DataError(f"{str(path)!r} is not JSON: {error}.") from error
    name = folder.relative_to(root).as_posix()
    return {
        "name": name,
        "category": str(meta.get("category_id") or folder.parent.name),
        "folder": str(folder),
        "service": " ".join(map(str, meta.get("mcp") or ())),
    }
