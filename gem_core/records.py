"""Plain data: JSON that others wrote, and dataclasses that keep fields which they do not know.

Such a dataclass has a field ``extra``, a dict. A field that a newer version or another program has
added goes there when a record is read, and back to its place when the record is written.
"""

import json
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

__all__ = ["from_fields", "json_value", "to_fields"]


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
