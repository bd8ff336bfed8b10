"""Finds the tasks in a folder, whatever their formats."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gem_core.errors import ConfigError
from gem_terminal.harbor import read_harbor
from gem_terminal.task import TerminalTask
from gem_terminal.terminal_bench import read_terminal_bench

__all__ = ["TaskFolder", "read_folder", "sample_tasks"]

_Reader = Callable[..., TerminalTask]
_FORMATS: dict[str, tuple[str, _Reader]] = {
    "harbor": ("task.toml", read_harbor),
    "terminal-bench": ("task.yaml", read_terminal_bench),
}
_SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True)
class TaskFolder:
    """A folder with a task, or with one that cannot be read.

    Args:
        path: The folder.
        format: ``harbor`` or ``terminal-bench``; empty for a folder that cannot be listed.
        task: The task; None if it was refused.
        refusal: Why there is no task; an ``UnsupportedTaskError`` if it is well-formed.
    """

    path: Path
    format: str
    task: TerminalTask | None = None
    refusal: ConfigError | None = None


def read_folder(
    path: str | Path, *, variables: Mapping[str, str] | None = None
) -> list[TaskFolder]:
    """Read a task, or all tasks below a folder, in the order of their paths.

    Hidden folders, links to folders, and the folders of tasks are not searched.

    Args:
        path: The folder.
        variables: The values of ``${NAME}`` in environment variables.

    Raises:
        ConfigError: This is not a folder.
    """
    path = Path(path)
    if not path.is_dir():
        kind = "is not a folder" if path.exists() else "does not exist"
        raise ConfigError(f"{path} {kind}; give a task folder, or a folder of them.")
    return list(_tasks(path, variables or {}))


def sample_tasks() -> list[TerminalTask]:
    """Return the tasks that are shipped with the package, in the order of their ids."""
    return [read_harbor(folder) for folder in sorted(_SAMPLES.iterdir())]


def _tasks(path: Path, variables: Mapping[str, str]) -> Iterator[TaskFolder]:
    pending = [path]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(folder.iterdir(), reverse=True)
            names = {entry.name for entry in entries}
            folders = [e for e in entries if e.is_dir() and not e.is_symlink()]
        except OSError as error:
            yield TaskFolder(folder, "", refusal=ConfigError(f"{folder} cannot be listed: {error}"))
            continue
        found = next((name for name, (file, _) in _FORMATS.items() if file in names), None)
        if found:
            yield _read(folder, found, variables)
        else:
            pending += [each for each in folders if not each.name.startswith(".")]


def _read(folder: Path, name: str, variables: Mapping[str, str]) -> TaskFolder:
    try:
        return TaskFolder(folder, name, _FORMATS[name][1](folder, variables=variables))
    except ConfigError as error:
        return TaskFolder(folder, name, refusal=error)
