"""The files of a task folder: JSON, texts, and the database that all its tasks share."""

import copy
import functools
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_core.errors import DataError
from gem_tau.database import Base
from gem_tau.readers.businesses import Business

__all__ = ["base_of_file", "base_of_folder", "patched", "read_json", "read_text", "stamp"]

Tables = dict[str, dict[str, Any]]


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        DataError: It is missing or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path} is missing.") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error


def read_json(path: Path) -> Any:
    """Return the value in a JSON file.

    Raises:
        DataError: It is missing or not JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}.") from error


def _read_toml(path: Path) -> Any:
    """Return the value in a TOML file, with dates as texts.

    Raises:
        DataError: It is missing or not TOML.
    """
    text = read_text(path)
    try:
        return json.loads(json.dumps(tomllib.loads(text), default=str))
    except ValueError as error:
        raise DataError(f"{path} is not valid TOML: {error}.") from error


def base_of_file(path: Path, business: Business, user_path: Path | None = None) -> Base:
    """Return the database in one file, an object of tables.

    Args:
        path: The file, in JSON or TOML.
        business: The domain.
        user_path: The file with the records of the table ``user``; it may be missing.

    Raises:
        DataError: It cannot be read, or is not a database of the domain.
    """
    if user_path is None or business.user_toolkit is None:
        return _base((str(path),), business, stamp(path))
    return _with_user(str(path), str(user_path), business, (stamp(path), stamp(user_path)))


@functools.lru_cache(maxsize=8)
def _with_user(path: str, user_path: str, business: Business, stamps: Any) -> Base:
    """Return a base with the table ``user``; the stamps make it anew when a file has changed."""
    base = _base((path,), business, stamps[0])
    records = dict(business.user_toolkit.start if business.user_toolkit else {})
    changes = _read(Path(user_path)) if Path(user_path).exists() else {}
    if not isinstance(changes, dict) or (unknown := sorted(set(changes) - set(records))):
        found = repr(unknown[0]) if isinstance(changes, dict) else "no object"
        raise DataError(f"{user_path} has {found}, and may have: {', '.join(records)}.")
    tables = dict(base.tables) | {"user": _merged(records, changes)}
    return Base(tables, origin=(_with_user, (path, user_path, business, stamps)))


def _read(path: Path) -> Any:
    return _read_toml(path) if path.suffix == ".toml" else read_json(path)


def base_of_folder(path: Path, business: Business) -> Base:
    """Return the database in a folder that has a file for each table.

    Raises:
        DataError: It cannot be read, or is not a database of the domain.
    """
    files = tuple(sorted(map(str, path.glob("*.json"))))
    if not files:
        raise DataError(f"{path} has no JSON files; the database is missing.")
    return _base(files, business, tuple(stamp(Path(one)) for one in files))


def stamp(path: Path) -> tuple[int, int]:
    """Return the time and size of a file, which change when it is written; zeros without one."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=8)
def _base(files: tuple[str, ...], business: Business, stamps: Any) -> Base:
    """Return a base; the stamps make it anew when a file has changed."""
    if len(files) == 1:
        value = _read(Path(files[0]))
        where = files[0]
    else:
        value = {Path(one).stem: read_json(Path(one)) for one in files}
        where = str(Path(files[0]).parent)
    return Base(_tables(value, where, business), origin=(_base, (files, business, stamps)))


def _tables(value: Any, where: str, business: Business) -> Tables:
    if not isinstance(value, dict):
        raise DataError(f"{where} must have an object of tables; got a {type(value).__name__}.")
    if problem := business.lacks(value):
        raise DataError(f"{where} {problem}.")
    tables: Tables = {name: _by_id(records, name, where) for name, records in value.items()}
    for table, records in tables.items():
        if not isinstance(records, dict):
            raise DataError(f"{where}: the table {table!r} must be an object of records by id.")
        for record_id, record in records.items():
            if not isinstance(record, dict):
                raise DataError(f"{where}: the record {record_id!r} of {table!r} is not an object.")
    return tables


def _by_id(records: Any, table: str, where: str) -> Any:
    """Return a list of records, such as lines with a ``line_id``, by id."""
    if not isinstance(records, list):
        return records
    name = f"{table[:-1]}_id"
    if any(not isinstance(one, dict) or not isinstance(one.get(name), str) for one in records):
        raise DataError(f"{where}: a record of {table!r} has no {name!r}.")
    found = {one[name]: one for one in records}
    if len(found) < len(records):
        raise DataError(f"{where}: two records of {table!r} have the same {name!r}.")
    return found


def patched(base: Base, patch: Mapping[str, Mapping[str, Any]]) -> Base:
    """Return a base with records changed: objects are merged, other values are replaced.

    Records that are not in the patch are shared with the given base.

    Args:
        base: The base.
        patch: Parts of records by table and id.
    """
    tables = {table: dict(records) for table, records in base.tables.items()}
    for table, records in patch.items():
        for record_id, change in records.items():
            tables[table][record_id] = _merged(tables[table].get(record_id), change)
    return Base(tables, origin=(patched, (base, dict(patch))))


def _merged(value: Any, change: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(change, dict):
        return copy.deepcopy(change)
    return value | {key: _merged(value.get(key), one) for key, one in change.items()}
