"""A folder of runs: what each run below it was, and its figures, without reading its episodes.

A run is a folder with episodes or metrics of training steps. Of an evaluation the figures
are those of ``metrics.json``; of training those of its last step. A run's row is only made again
when one of its files has changed.
"""

import contextlib
import csv
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock
from gem_rollout.records.runs import INFO, METRICS, TAGS, TRAJECTORIES, Run
from gem_rollout.records.step_metrics import METRICS_FILE, STEP
from gem_rollout.records.store import is_being_written

__all__ = ["Home", "find_runs"]

Row = dict[str, Any]

_MARKS = {TRAJECTORIES, METRICS_FILE}
_FILES = (INFO, TRAJECTORIES, METRICS, METRICS_FILE, TAGS)
_MODEL = "model"
_INSIDE = {"checkpoints", _MODEL}
"""Folders of a run that have no runs."""
_MOST_FOLDERS = 50_000
_MOST_COUNTED = 100 << 20
_TAIL = 1 << 16
_PROGRAM = re.compile("gem-core (?P<name>[a-z][a-z-]*(?: [a-z][a-z-]*)*)(?= |$)")
"""The beginning of a command in ``run.json``."""


class Home:
    """The runs below a folder. It is thread-safe.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = 0
        """A number that is another one when a row has changed."""
        self.rows: list[Row] = []
        self._known: dict[str, tuple[Any, Row]] = {}
        self._lock = Lock()

    @property
    def shown_path(self) -> str:
        """The path as messages show it."""
        return Run(self.path).shown_path

    def refresh(self) -> None:
        """Look for runs, and for what has changed in them.

        Raises:
            ConfigError: There are too many folders.
        """
        with self._lock:
            known = {}
            for path in find_runs(self.path):
                name = path.relative_to(self.path).as_posix()
                files = _state_of_files(path)
                before = self._known.get(name)
                row = before[1] if before is not None and before[0] == files else _row(path, name)
                known[name] = files, row
            rows = [_with_state(self.path / name, row) for name, (_, row) in known.items()]
            self._known = known
            if rows != self.rows:
                self.rows, self.version = rows, self.version + 1

    def run(self, name: str) -> Run:
        """Return a run by its path below the folder.

        Raises:
            ConfigError: There is no such run.
        """
        path = self.path / name
        if name not in self._known:  # it may be new
            self.refresh()
        if name not in self._known:
            raise ConfigError(f"There is no run {name!r} in {self.shown_path}.")
        return Run(path)


def find_runs(folder: Path) -> Iterator[Path]:
    """Yield the folders of runs below a folder; evaluations of training belong to their run.

    Raises:
        ConfigError: There are too many folders to search.
    """
    waiting, seen = [(folder, False)], set[tuple[int, int]]()
    while waiting:
        path, is_in_run = waiting.pop()
        try:
            stat = path.stat()
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:  # it was removed, or must not be read
            continue
        if (stat.st_dev, stat.st_ino) in seen:  # a link to a folder above
            continue
        seen.add((stat.st_dev, stat.st_ino))
        if len(seen) > _MOST_FOLDERS:
            raise ConfigError(f"{folder} has more than {_MOST_FOLDERS:,} folders: choose another.")
        is_run = path != folder and any(
            entry.name in _MARKS and _is_file(entry) for entry in entries
        )
        if is_run:
            yield path
        for entry in reversed(entries):
            inside = is_run and entry.name in _INSIDE
            evaluation = is_in_run and path.name == "eval" and entry.name.isdecimal()
            if not entry.name.startswith(".") and not inside and not evaluation and _is_dir(entry):
                waiting.append((path / entry.name, is_run))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_dir()
    return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_file()
    return False


def _state_of_files(path: Path) -> list[tuple[int, int] | None]:
    """Return what changes with the files of a run."""
    found: list[tuple[int, int] | None] = []
    for name in _FILES:
        try:
            stat = os.stat(f"{path}/{name}")  # noqa: PTH116 - twice as fast for thousands of files
            found.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append(None)
    return found


def _is_newer(path: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime_ns > other.stat().st_mtime_ns
    return False


def _row(path: Path, name: str) -> Row:
    """Return what is known of a run, but for whether it is running."""
    run, problems = Run(path), list[str]()

    def read(what: Callable[[], Any], default: Any) -> Any:
        try:
            return what()
        except (ConfigError, OSError, ValueError, csv.Error) as error:
            problems.append(str(error))
            return default

    info = read(run.info, {})
    metrics = read(run.metrics, {})
    step = read(lambda: _last_step(path / METRICS_FILE), {})
    command = info.get("command")
    command = command if isinstance(command, str) else ""
    figures = list(_figures(metrics)) or read(lambda: _figures_of_step(step), [])
    episodes, missing = None, _number(metrics.get("missing"))
    if metrics:
        episodes = sum(one["episodes"] or 0 for one in figures)
    if not metrics or _is_newer(run.trajectories_path, run.metrics_path):
        count = read(lambda: _count_lines(run.trajectories_path), None)
        if count is not None and count != episodes:  # resumed, and not ended
            episodes, missing = count, None
    return {
        "name": name,
        "word": shlex.quote(run.shown_path),
        "created": _number(info.get("created")) or read(lambda: path.stat().st_mtime, None),
        "command": command,
        "kind": _kind(command, info),
        "agents": _texts(info.get("agents")),
        "envs": _texts(info.get("envs")),
        "episodes": episodes,
        "missing": missing,
        "expected": _expected(info),
        "step": _number(step.get(STEP)),
        "figures": figures,
        "tags": read(run.tags, []),
        "problem": " ".join(problems),
    }


def _with_state(path: Path, row: Row) -> Row:
    """Return a row with ``state``: running, finished, incomplete, or empty if it is not known."""
    if is_being_written(path / TRAJECTORIES):
        state = "running"
    elif row["missing"] is not None:
        state = "incomplete" if row["missing"] else "finished"
    elif row["kind"] in {"train", "train sft"}:
        # Only training writes episodes to the end, so a warm start may still be running.
        unknown = "" if row["kind"] == "train sft" else "incomplete"
        state = "finished" if (path / _MODEL).is_dir() else unknown
    elif row["kind"] == "eval":  # it writes metrics.json when it ends
        state = "incomplete"
    elif row["expected"] is not None and row["episodes"] is not None:
        state = "finished" if row["episodes"] >= row["expected"] else "incomplete"
    else:
        state = ""
    return {**row, "state": state}


def _kind(command: str, info: Mapping[str, Any]) -> str:
    """Return the name of the command without ``gem-core``; empty if it is not known."""
    if match := _PROGRAM.match(command):
        return match["name"]
    kind = info.get("kind")
    return kind if isinstance(kind, str) else ""


def _figures(metrics: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the figures of each agent: of all its episodes, or of its only environment."""
    rows = metrics.get("rows")
    known = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    for agent in dict.fromkeys(str(row.get("agent")) for row in known):
        own = {str(row.get("scope")): row for row in known if str(row.get("agent")) == agent}
        row = own.get("pooled") or own.get("env") or {}
        errors, counts = row.get("errors"), list[float]()
        if isinstance(errors, Mapping):
            counts = [_number(count) or 0 for count in errors.values()]
        yield {
            "agent": agent,
            "episodes": _number(row.get("episodes")),
            "success": _estimate(row.get("success")),
            "return": _estimate(row.get("mean_return")),
            "errors": sum(counts) if isinstance(errors, Mapping) else None,
        }


def _figures_of_step(step: Mapping[str, str]) -> list[Row]:
    """Return the figures of the last step of training, of its evaluation if there was one."""
    values = {}
    for name in ("success", "return"):
        texts = (step.get(f"{part}/{name}") for part in ("eval", "rollout"))
        values[name] = next(({"value": float(text)} for text in texts if text), None)
    known = any(value is not None for value in values.values())
    return [{"agent": "policy", "episodes": None, **values, "errors": None}] if known else []


def _estimate(value: Any) -> Row | None:
    if not isinstance(value, Mapping):
        return None
    return {key: _number(value.get(key)) for key in ("value", "low", "high")}


def _last_step(path: Path) -> dict[str, Any]:
    """Return the last whole row of ``metrics.csv``, by column; empty without one."""
    try:
        with path.open("rb") as file:
            head = file.readline()
            start = file.tell()
            size = file.seek(0, os.SEEK_END)
            file.seek(max(start, size - _TAIL))
            lines = file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return {}
    columns, *rows = csv.reader(line.decode() for line in [head, *lines[-1:]])
    row = dict(zip(columns, rows[0], strict=False)) if rows else {}
    return {**row, STEP: int(row[STEP])} if row.get(STEP, "").isdecimal() else {}


def _count_lines(path: Path) -> int | None:
    """Return the number of episodes of a file that is not large; None of one that is."""
    try:
        if path.stat().st_size > _MOST_COUNTED:
            return None
        with path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return 0


def _expected(info: Mapping[str, Any]) -> int | None:
    """Return the number of episodes that ``gem-core run`` was asked for; None if not known."""
    config = info.get("config")
    if not isinstance(config, Mapping):
        return None
    each, named = config.get("episodes"), config.get("envs")
    if not isinstance(each, int):
        return None
    envs = len(_texts(info.get("envs")))
    if isinstance(named, Mapping) and "id" not in named:
        envs = max(envs, len(named))
    return each * envs * len(_texts(info.get("agents")))


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, Iterable) and value else []


def _number(value: Any) -> float | int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None
