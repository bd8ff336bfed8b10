"""Dataclasses that are written as plain data, and keep fields that they do not know.

Such a dataclass has a field ``extra``, a dict. A field that a newer version or another program has
added goes there when a record is read, and back to its place when the record is written.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

__all__ = ["from_fields", "to_fields"]


class _Record(Protocol):
    extra: dict[str, Any]


R = TypeVar("R", bound=_Record)


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
