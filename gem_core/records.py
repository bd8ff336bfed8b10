"""Plain data: JSON that others wrote, and dataclasses that keep fields which they do not know.

Such a dataclass has a field ``extra``, a dict. A field that a newer version or another program has
added goes there when a record is read, and back to its place when the record is written.
"""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

__all__ = ["from_fields", "from_runs", "json_value", "to_fields", "to_runs"]


class _Record(Protocol):
    extra: dict[str, Any]


R = TypeVar("R", bound=_Record)


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: It is not JSON, or its lists and objects are nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists and objects are nested too deeply") from None


def to_fields(record: _Record) -> dict[str, Any]:
    """Return all fields of a record, those in ``extra`` included; values are not copied."""
    fields = dict(vars(record))
    extra = fields.pop("extra")
    return {**fields, **extra} if extra else fields


def from_fields(cls: type[R], fields: Mapping[str, Any]) -> R:
    """Return the record with these fields; unknown ones go to ``extra``.

    Raises:
        TypeError: A required field is missing.
    """
    names = cls.__dataclass_fields__  # type: ignore[attr-defined]
    extra = {name: value for name, value in fields.items() if name not in names or name == "extra"}
    if not extra:
        return cls(**fields)
    known = {name: value for name, value in fields.items() if name not in extra}
    record = cls(**known)
    record.extra = extra
    return record


def to_runs(values: Iterable[int | None]) -> list[list[int | None]]:
    """Return the runs ``[value, count]`` of equal values; the inverse of ``from_runs``."""
    return [[value, sum(1 for _ in same)] for value, same in itertools.groupby(values)]


def from_runs(runs: Any, count: int) -> list[int | None]:
    """Return the values of runs ``[value, count]``.

    Args:
        runs: The runs, from a file.
        count: The number of values that they must have together.

    Raises:
        ValueError: They are not runs, or have another number of values.
    """
    is_valid = isinstance(runs, list) and all(map(_is_run, runs))
    if not is_valid or sum(run[1] for run in runs) != count:
        raise ValueError(f"{str(runs)[:80]} are not runs of {count} values")
    return [value for value, times in runs for _ in range(times)]


def _is_run(run: Any) -> bool:
    if not isinstance(run, list) or len(run) != 2:
        return False
    value, count = run
    return (value is None or type(value) is int) and type(count) is int and count > 0
