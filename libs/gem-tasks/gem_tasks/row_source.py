"""The sources of rows: the hub, files, a dataset or a list in memory, or a file of a package."""

import os
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gem_core.errors import ConfigError, DataError, near_names
from gem_tasks.data_version import version_of_content, version_of_files, version_of_hub
from gem_tasks.rows import (
    INSPECTOR,
    DatasetRows,
    ListRows,
    Rows,
    checked,
    shared_while_used,
    shared_with_process,
)
from gem_tasks.stream import BATCH, StreamRows, dataset_batches

if TYPE_CHECKING:
    from gem_tasks.resolved_files import TextFiles

__all__ = ["PACKAGE", "RowSource", "load_rows"]

PACKAGE = "package://"
"""The prefix of JSON lines in an installed package: ``package://gem_math/data/sample.jsonl``."""

Columns = Mapping[str, Any]
AnyRows = TypeVar("AnyRows", Rows, StreamRows, Rows | StreamRows)


@dataclass(frozen=True, kw_only=True)
class RowSource:
    """A source of rows; ``TaskEnv`` documents the fields."""

    dataset_name: str = ""
    split: str | None = None
    data: Any = None
    streaming: bool = False

    @property
    def name(self) -> str:
        """The name of the data: a dataset on the hub with its split, a path, or rows in memory."""
        if self.data is None:
            name = self.dataset_name
        elif _is_paths(self.data):
            paths = [self.data] if isinstance(self.data, str | os.PathLike) else self.data
            name = ", ".join(os.fspath(path) for path in paths)
        else:
            name = "rows in memory"
        return f"{name}, split {self.split}" if self.split and name else name


def load_rows(source: RowSource, columns: Columns) -> Rows | StreamRows:
    """Return the rows of a source; callers that ask for the same columns share them.

    Raises:
        ConfigError: Rows in memory cannot be streamed.
        DataError: The data cannot be used.
        HubError: The hub does not provide the dataset.
    """
    if (inspector := INSPECTOR.get()) is not None:
        inspector.needs(columns)
    if source.data is None:
        return shared_with_process((source, repr(columns)), lambda: _hub_rows(source, columns))
    is_package = isinstance(source.data, str) and source.data.startswith(PACKAGE)
    if not is_package and _is_paths(source.data):
        from gem_tasks.files import file_versions, resolve_paths  # noqa: PLC0415 - often unneeded

        paths = resolve_paths(source.data)
        versions = file_versions(paths)
        key = (versions, source.split, source.streaming, repr(columns))
        sizes = {path: size for path, size, _ in versions}
        return shared_with_process(
            key, lambda: _with_version(_file_rows(paths, source, columns), version_of_files(sizes))
        )
    if source.streaming:
        raise ConfigError("streaming=True works for datasets on the hub and for files.")
    if is_package:
        return shared_with_process(
            (source.data, repr(columns)), lambda: _package_rows(source.data, columns)
        )
    return _rows_in_memory(source, columns)


def _is_paths(data: Any) -> bool:
    if isinstance(data, str | os.PathLike):
        return True
    is_list = isinstance(data, list | tuple)
    return is_list and bool(data) and all(isinstance(one, str | os.PathLike) for one in data)


def _hub_rows(source: RowSource, columns: Columns) -> Rows | StreamRows:
    from gem_tasks.hub import load_from_hub  # noqa: PLC0415 - it imports networking modules
    from gem_tasks.resolved_files import TextFiles  # noqa: PLC0415

    name = source.dataset_name
    if not name:
        raise DataError(
            "No rows were given. Give dataset_name='org/name' for a dataset on the hub, or data= "
            "for files, a dataset or a list of mappings."
        )
    found, origin = load_from_hub(name, streaming=source.streaming), f"{name!r} on the hub"
    if isinstance(found, TextFiles):
        rows = _text_rows(found, origin, source, columns, remote=True)
    else:
        rows = _rows_of(found, origin, source.split, columns, remote=True)
    return _with_version(rows, version_of_hub(found))


def _with_version(rows: AnyRows, version: str) -> AnyRows:
    rows.version = version
    return rows


def _file_rows(paths: list[Path], source: RowSource, columns: Columns) -> Rows | StreamRows:
    from gem_tasks.files import load_from_files, text_files  # noqa: PLC0415 - often unneeded

    origin = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    found = text_files(paths)
    if found is not None:
        return _text_rows(found, origin, source, columns)
    loaded = load_from_files(paths, streaming=source.streaming)
    return _rows_of(loaded, origin, source.split, columns)


def _text_rows(
    found: "TextFiles", origin: str, source: RowSource, columns: Columns, *, remote: bool = False
) -> Rows | StreamRows:
    from gem_tasks.file_rows import file_rows, streamed  # noqa: PLC0415

    files = _one_split(found.files, source.split, origin)
    if not source.streaming:
        return file_rows(files, found.kind, origin, columns, remote=remote)
    batches = partial(streamed, files, found.kind, columns, BATCH, remote=remote)
    return StreamRows(batches, origin, columns, remote=remote).checked()


def _rows_in_memory(source: RowSource, columns: Columns) -> Rows | StreamRows:
    data = source.data
    if _is_dataset(data):
        key: Hashable = (id(data), source.split, repr(columns))
        return shared_while_used(key, lambda: _rows_of(data, "data", source.split, columns))
    if isinstance(data, Sequence) and not isinstance(data, bytes):
        key = (id(data), len(data), repr(columns))
        return shared_while_used(key, lambda: checked(ListRows(data, "data", columns)))
    raise DataError(
        f"data must be a path or a glob, a list of paths, a datasets.Dataset or DatasetDict, a "
        f"list of mappings, or 'package://...'; got {type(data).__name__}."
    )


def _is_dataset(data: Any) -> bool:
    datasets = sys.modules.get("datasets")  # if it is not imported, no dataset can exist
    names = ("Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")
    return datasets is not None and isinstance(data, tuple(getattr(datasets, n) for n in names))


def _one_split(found: Any, split: str | None, origin: str) -> Any:
    """Return the requested split of a mapping of splits, or a dataset without splits as it is."""
    if not isinstance(found, Mapping):
        return found
    names = [str(name) for name in found]
    if split is None and len(names) == 1:
        return found[names[0]]
    if split is None:
        raise DataError(f"{origin} has several splits; choose one with split=: {_listed(names)}.")
    if split not in names:
        raise DataError(
            f"There is no split {split!r} in {origin}.{near_names(split, names)} "
            f"It has: {_listed(names)}."
        )
    return found[split]


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _rows_of(
    found: Any, origin: str, split: str | None, columns: Columns, *, remote: bool = False
) -> Rows | StreamRows:
    dataset = _one_split(found, split, origin)
    if hasattr(dataset, "__len__"):
        return checked(DatasetRows(dataset, origin, columns, owner=found, remote=remote))
    batches = partial(dataset_batches, dataset, origin, columns, remote=remote)
    return StreamRows(batches, origin, columns, remote=remote).checked()


def _package_rows(data: str, columns: Columns) -> Rows:
    from gem_tasks.file_rows import package_rows  # noqa: PLC0415

    package, _, path = data.removeprefix(PACKAGE).partition("/")
    try:
        content = files(package).joinpath(path).read_bytes()
    except (ModuleNotFoundError, OSError) as error:
        raise DataError(f"There is no {data!r}: {error}.") from error
    return _with_version(package_rows(content, data, columns), version_of_content(content))
