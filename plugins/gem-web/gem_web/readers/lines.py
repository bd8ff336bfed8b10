"""Anybody's shop: ``products.jsonl`` and ``goals_<split>.jsonl``, a record on each line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from gem_core.errors import DataError
from gem_web.product import Goal, Product
from gem_web.readers.source import Source

__all__ = ["open_source"]

Record = TypeVar("Record", Product, Goal)
_PRODUCTS = TypeAdapter(Product)
_GOALS = TypeAdapter(Goal)


def open_source(folder: Path) -> Source | None:
    """Return the source of a folder with ``products.jsonl``; None if it has none."""
    path = folder / "products.jsonl"
    if not path.is_file():
        return None
    return Source(
        lambda: _records(path, _PRODUCTS, Product),
        lambda: _goals(folder),
        "products.jsonl",
    )


def _goals(folder: Path) -> Mapping[str, Sequence[Goal]]:
    files = sorted(folder.glob("goals_*.jsonl"))
    if not files:
        raise DataError(f"{folder} has no goals: there is no file goals_<split>.jsonl.")
    return {path.stem.removeprefix("goals_"): list(_records(path, _GOALS, Goal)) for path in files}


def _records(path: Path, adapter: TypeAdapter[Record], kind: type[Record]) -> Iterator[Record]:
    """Yield the records of a file.

    Raises:
        DataError: A line is not JSON, a field is missing or unknown, or has the wrong type.
    """
    known = set(kind.__dataclass_fields__)
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _record(f"{path}, line {number}", line, adapter, known)


def _record(where: str, line: str, adapter: TypeAdapter[Record], known: set[str]) -> Record:
    try:
        fields = json.loads(line)
        if unknown := [name for name in fields if name not in known]:
            raise DataError(
                f"{where}: there is no field {unknown[0]!r}; there are {', '.join(sorted(known))}."
            )
        return adapter.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{where}: {path}: {first['msg']}.") from error
    except (ValueError, TypeError) as error:
        raise DataError(f"{where}: {error}.") from error
