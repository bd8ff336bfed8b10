"""Local datasets: a directory, or files of one format."""

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gem_core.errors import DataError, near_names
from gem_tasks.file_rows import COMPRESSED, FORMATS
from gem_tasks.hub import import_datasets
from gem_tasks.resolved_files import ENDINGS, TextFiles, ending

__all__ = ["file_versions", "load_from_files", "resolve_paths", "text_files"]


def resolve_paths(data: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the existing files, or the one directory, that paths and globs name.

    Args:
        data: A path or a glob, or several of them. ``~`` is the home directory.

    Raises:
        DataError: Nothing matches a path or glob, or a directory is one of several paths.
    """
    given = [data] if isinstance(data, str | os.PathLike) else list(data)
    paths = [path for one in given for path in _expanded(Path(one).expanduser())]
    if len(paths) > 1 and any(path.is_dir() for path in paths):
        raise DataError(f"data must be one directory, or several files; got {data!r}.")
    return paths


def _expanded(path: Path) -> list[Path]:
    if path.exists():
        return [path.resolve()]
    found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - may be absolute
    if not found:
        raise _nothing_there(path)
    return [Path(name).resolve() for name in found]


def _nothing_there(path: Path) -> DataError:
    folder = next(parent for parent in path.absolute().parents if parent.is_dir())
    names = sorted(entry.name for entry in folder.iterdir())
    wanted = path.absolute().relative_to(folder).parts[0]
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return DataError(
        f"There is no file or directory {str(path)!r}.{near_names(wanted, names)} "
        f"{folder} contains: {listed or 'nothing'}."
    )


def file_versions(paths: list[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return the path, size in bytes and modification time in ns of each file, recursively."""
    files = [file for path in paths for file in (_files_below(path) if path.is_dir() else [path])]
    return tuple((str(file), *_size_and_time(file)) for file in files)


def _files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _size_and_time(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def text_files(paths: list[Path]) -> TextFiles | None:
    """Return the files if ``gem_tasks.file_rows`` reads them, None if ``datasets`` must.

    Args:
        paths: The result of ``resolve_paths``.

    Raises:
        DataError: The files have an unknown format or several formats, or a directory has none.
    """
    if not paths[0].is_dir():
        kind = _format(paths)
        return TextFiles(kind, paths) if kind in FORMATS else None
    if _is_saved(paths[0]):
        return None
    datasets = import_datasets()
    with _reading(paths):
        return TextFiles.of_builder(datasets, datasets.load_dataset_builder(str(paths[0])))


def _is_saved(folder: Path) -> bool:
    """Return whether ``save_to_disk`` has made a directory."""
    return any((folder / name).exists() for name in ("state.json", "dataset_dict.json"))


def load_from_files(paths: list[Path], *, streaming: bool) -> Any:
    """Return a ``DatasetDict`` of a directory, or a ``Dataset`` of files (iterable if streaming).

    Args:
        paths: The result of ``resolve_paths``.
        streaming: Read the files as rows are needed.

    Raises:
        DataError: The files have an unknown format or several formats, or cannot be read.
    """
    kind = None if paths[0].is_dir() else _format(paths)
    datasets = import_datasets()
    with _reading(paths):
        if kind is not None:
            files = [glob.escape(str(path)) for path in paths]
            return _load(datasets, kind, data_files=files, split="train", streaming=streaming)
        if _is_saved(paths[0]):
            return datasets.load_from_disk(str(paths[0]))
        return _load(datasets, str(paths[0]), streaming=streaming)


@contextmanager
def _reading(paths: list[Path]) -> Iterator[None]:
    """Turn the errors of ``datasets`` into a ``DataError`` that names the files."""
    try:
        yield
    except Exception as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise DataError(f"{', '.join(map(str, paths))} cannot be read: {reason}") from error


def _load(datasets: Any, path: str, **options: Any) -> Any:
    return datasets.load_dataset(path, keep_in_memory=False, **options)


def _format(paths: list[Path]) -> str:
    endings = {ending(path) for path in paths}
    kinds = {ENDINGS.get(one, "") for one in endings}
    if len(kinds) != 1 or "" in kinds:
        raise DataError(
            f"All files must have the same format, one of {', '.join(ENDINGS)} (optionally "
            f"compressed as {', '.join(COMPRESSED)}); got {', '.join(sorted(endings))!r}."
        )
    return kinds.pop()
