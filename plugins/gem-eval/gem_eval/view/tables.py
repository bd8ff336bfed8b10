"""Converts episodes and turns to rows of tables, and rows to Parquet.

A line of ``trajectories.jsonl`` becomes one flat row (``episode_row``), or one row per turn
(``turn_rows``). Rows are written to a file of JSON lines, which DuckDB converts to Parquet or CSV.
Both steps stream, so memory does not grow with the run.
"""

import contextlib
import json
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from gem_core.errors import ConfigError
from gem_core.info import Grading
from gem_eval.causes import Ending, cause_of
from gem_rollout.records.observations import whole_turns

__all__ = [
    "EPISODE_COLUMNS",
    "TURN_COLUMNS",
    "RowFile",
    "connect",
    "episode_row",
    "episode_text",
    "flat",
    "literal_path",
    "read_rows",
    "strict_json",
    "temporary_folder",
    "turn_rows",
]

EPISODE_COLUMNS = {
    "env_id": "VARCHAR",
    "agent": "VARCHAR",
    "index": "BIGINT",
    "group": "BIGINT",
    "sample": "BIGINT",
    "seed": "VARCHAR",  # a seed may be larger than any integer of SQL
    "task_id": "VARCHAR",
    "outcome": "VARCHAR",
    "success": "BOOLEAN",
    "return": "DOUBLE",
    "turns": "BIGINT",
    "terminated": "BOOLEAN",
    "truncated": "BOOLEAN",
    "tool_calls": "BIGINT",
    "tool_failures": "BIGINT",
    "prompt_tokens": "BIGINT",
    "completion_tokens": "BIGINT",
    "cost": "DOUBLE",
    "model": "VARCHAR",
    "setup_seconds": "DOUBLE",
    "queue_seconds": "DOUBLE",
    "model_seconds": "DOUBLE",
    "agent_seconds": "DOUBLE",
    "env_seconds": "DOUBLE",
    "seconds": "DOUBLE",
    "started_at": "DOUBLE",
    "training_step": "BIGINT",
    "attempts": "BIGINT",
    "error_boundary": "VARCHAR",
    "error_type": "VARCHAR",
    "error_message": "VARCHAR",
    "last_action": "VARCHAR",
    "cause": "VARCHAR",
    "question": "VARCHAR",
    "expected": "VARCHAR",
    "extracted": "VARCHAR",
    "verdict": "VARCHAR",
    "reason": "VARCHAR",
}
"""Columns of the table of episodes, with their SQL types.

``question`` to ``reason`` are those of ``info["grading"]``; ``reason`` of an episode that failed is
that of its ``cause``.
"""

TURN_COLUMNS = {
    "env_id": "VARCHAR",
    "agent": "VARCHAR",
    "index": "BIGINT",
    "turn": "BIGINT",
    "acting_agent": "VARCHAR",
    "observation": "VARCHAR",
    "action": "VARCHAR",
    "reward": "DOUBLE",
    "terminated": "BOOLEAN",
    "truncated": "BOOLEAN",
    "agent_seconds": "DOUBLE",
    "env_seconds": "DOUBLE",
    "info": "VARCHAR",
    "generation": "VARCHAR",
}
"""Columns of the table of turns; ``info`` and ``generation`` are JSON."""

_PREVIEW = 160
_LONGEST_ERROR = 2_000


def episode_row(episode: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an episode, which is the result of ``Trajectory.to_dict``.

    Raises:
        KeyError, TypeError, AttributeError: It is not a trajectory.
    """
    turns = episode["turns"]
    error = episode.get("error") or {}
    last = turns[-1] if turns else {}
    calls = [call for turn in turns for call in _tool_calls(turn)]
    generations = [turn.get("generation") or {} for turn in turns]
    agent_seconds = _sum(turn.get("agent_seconds") for turn in turns)
    env_seconds = _sum(turn.get("env_seconds") for turn in turns)
    setup_seconds = _number(episode.get("setup_seconds")) or 0.0
    return {
        "env_id": _text(episode.get("component") or episode["env_id"]),
        "agent": _text(episode["agent"]),
        "index": episode["index"],
        "group": episode.get("group", episode["index"]),
        "sample": episode.get("sample", 0),
        "seed": str(episode["seed"]),
        "task_id": _task_id(episode),
        "outcome": _outcome(episode),
        "success": episode.get("success"),
        "return": _number(sum(turn["reward"] for turn in turns)),
        "turns": len(turns),
        "terminated": bool(last.get("terminated")),
        "truncated": bool(last.get("truncated")),
        "tool_calls": len(calls),
        "tool_failures": sum(not call.get("ok") for call in calls),
        "prompt_tokens": _total(generations, "prompt_tokens"),
        "completion_tokens": _total(generations, "completion_tokens"),
        "cost": _total(generations, "cost"),
        "model": next((_text(g["model"]) for g in generations if g.get("model")), None),
        "setup_seconds": setup_seconds,
        "queue_seconds": _sum(g.get("queue_seconds") for g in generations),
        "model_seconds": _sum(g.get("model_seconds") for g in generations),
        "agent_seconds": agent_seconds,
        "env_seconds": env_seconds,
        "seconds": setup_seconds + agent_seconds + env_seconds,
        "started_at": _number(episode.get("started_at")),
        "training_step": episode.get("training_step"),
        "attempts": episode.get("attempts", 1),
        "error_boundary": _text(error["boundary"]) if error.get("boundary") else None,
        "error_type": _text(error["type"]) if error.get("type") else None,
        "error_message": flat(error.get("message", ""))[:_LONGEST_ERROR] if error else None,
        "last_action": flat(last["action"])[-_PREVIEW:] if turns else None,
        **_why(episode),
    }


def _why(episode: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the cause of a failure, and what the environment says about its grade."""
    ending = Ending.of_dict(episode)
    said: Mapping[str, Any] = ending.grading or {}
    cause, reason = cause_of(ending) or (None, said.get("reason"))
    texts = {name: said.get(name) for name in Grading.__annotations__}
    found = {"cause": cause, **texts, "reason": reason or None}
    return {name: None if value is None else _text(value) for name, value in found.items()}


def _task_id(episode: Mapping[str, Any]) -> str | None:
    info = episode.get("reset_info")
    found = info.get("task_id") if isinstance(info, Mapping) else None
    return None if found is None else _text(found)


def episode_text(episode: Mapping[str, Any], longest: int) -> str:
    """Return the text to search: all observations and actions, in lower case.

    Args:
        episode: The result of ``Trajectory.to_dict``.
        longest: The largest number of characters.
    """
    parts: list[str] = []
    size = 0
    for turn in episode["turns"]:
        for value in (turn["observation"], turn["action"]):
            text = flat(value)[: longest - size].lower()
            parts.append(text)
            size += len(text) + 1
        if size >= longest:
            break
    parts.append(flat(episode.get("final_observation", ""))[: max(0, longest - size)].lower())
    return "\n".join(parts)


def turn_rows(episode: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the row of each turn of an episode."""
    for number, turn in enumerate(whole_turns(episode["turns"])):
        generation = turn.get("generation")
        yield {
            "env_id": _text(episode.get("component") or episode["env_id"]),
            "agent": _text(episode["agent"]),
            "index": episode["index"],
            "turn": number,
            "acting_agent": _text(turn["agent"]),
            "observation": flat(turn["observation"]),
            "action": flat(turn["action"]),
            "reward": _number(turn["reward"]),
            "terminated": turn["terminated"],
            "truncated": turn["truncated"],
            "agent_seconds": _number(turn.get("agent_seconds")),
            "env_seconds": _number(turn.get("env_seconds")),
            "info": strict_json(turn.get("info") or {}),
            "generation": None if generation is None else strict_json(generation),
        }


def flat(value: Any) -> str:
    """Return a value as valid Unicode text: lone surrogates become ``?``."""
    return _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def strict_json(value: Any) -> str:
    """Return a value as JSON. Numbers that JSON lacks become text, such as ``"NaN"``."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    return value


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


def _outcome(episode: Mapping[str, Any]) -> str:
    if episode.get("error"):
        return "error"
    return {True: "success", False: "failed", None: "unscored"}[episode.get("success")]


def _tool_calls(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    info = turn.get("info")
    calls = info.get("tool_calls") if isinstance(info, Mapping) else None
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _number(value: Any) -> float | None:
    """Return a finite number as a float, and None for anything else."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _sum(values: Iterable[Any]) -> float:
    return math.fsum(_number(value) or 0.0 for value in values)


def _total(generations: Iterable[Mapping[str, Any]], key: str) -> float | None:
    """Return the sum over the generations that have the key; None without any."""
    known = [value for g in generations if (value := _number(g.get(key))) is not None]
    if not known:
        return None
    return math.fsum(known) if key == "cost" else int(sum(known))


class RowFile:
    """A file of rows as JSON lines, for ``read_rows``; use it as a context manager.

    Args:
        path: The file, which is overwritten.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self.longest = 0
        self._file = path.open("wb")

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row."""
        line = json.dumps(row).encode() + b"\n"
        self._file.write(line)
        self.rows += 1
        self.longest = max(self.longest, len(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Give a folder that is removed at the end of the block.

    Unlike ``tempfile.TemporaryDirectory``, a fork of the process does not remove it at its exit.
    """
    folder = Path(tempfile.mkdtemp(dir=parent, prefix="."))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def connect() -> duckdb.DuckDBPyConnection:
    """Return a database in memory with at most 512 MB and without network access."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "memory_limit": "512MB",
        "threads": "2",
        "preserve_insertion_order": "true",
    }
    return duckdb.connect(config=config)


def read_rows(file: RowFile, columns: Mapping[str, str]) -> str:
    """Return an SQL table expression that reads a file of rows."""
    types = ", ".join(f"\"{name}\": '{kind}'" for name, kind in columns.items())
    size = max(1 << 20, file.longest + 1)
    return (
        f"read_json({literal_path(file.path)}, format = 'newline_delimited', "
        f"maximum_object_size = {size}, hive_partitioning = false, columns = {{{types}}})"
    )


def literal_path(path: Path) -> str:
    """Return a path as an SQL literal, in which wildcards of DuckDB are escaped.

    Raises:
        ConfigError: The path contains a null character.
    """
    text = str(path)
    if "\0" in text:
        raise ConfigError(f"The path {text!r} cannot be used.")
    plain = "".join(f"[{character}]" if character in "*?[" else character for character in text)
    return "'" + plain.replace("'", "''") + "'"
