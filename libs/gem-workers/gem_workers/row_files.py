"""Rows in memory that the worker processes of this machine read from one file.

A list of rows that is pickled for each worker takes its size in every one of them. Instead, the
rows are written once, and each worker maps the file into memory and unpickles a row when it is
taken.
"""

import io
import itertools
import mmap
import os
import pickle
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import cloudpickle

from gem_core.lifetimes import Lifetime
from gem_core.specs import EnvSpec
from gem_workers.pickles import dump

__all__ = ["FiledRows", "RowFiles"]

_LEAST = 1 << 20
"""The number of bytes from which rows are written to a file."""


class FiledRows(Sequence[Any]):
    """Rows in a file: their pickles, where each of these ends, and their number.

    Args:
        path: The file. A pickle holds the path alone.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with open(path, "rb") as file:  # noqa: PTH123 - the path is a text
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = len(self._data)
        count = int.from_bytes(self._data[size - 8 :], "little")
        self._ends = memoryview(self._data)[size - 8 * (count + 1) : size - 8].cast("Q")

    def __reduce__(self) -> tuple[Any, ...]:
        return FiledRows, (self._path,)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> list[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return [self[one] for one in range(len(self))[number]]
        at = range(len(self))[number]
        start = self._ends[at - 1] if at else 0
        return pickle.loads(self._data[start : self._ends[at]])  # noqa: S301 - from our own process


class RowFiles:
    """Pickles environments for the workers of this machine; long lists of rows become files.

    An environment class names the arguments that may be any sequence in ``row_arguments``. The
    files are deleted when this object is closed or dropped.

    Args:
        here: Whether the workers are on this machine; if not, nothing becomes a file.
    """

    def __init__(self, *, here: bool = True) -> None:
        self._here, self._numbers = here, itertools.count()
        self._folder: Path | None = None
        self._lifetime: Lifetime | None = None

    def dump(self, values: Iterable[Any]) -> list[bytes]:
        """Return the pickle of each value; equal lists of rows in them share one file."""
        filed: dict[int, tuple[list[Any], _Reference | None]] = {}

        def reference(rows: list[Any]) -> _Reference | None:
            if self._here and id(rows) not in filed:
                filed[id(rows)] = rows, self._written(rows)
            return filed[id(rows)][1] if self._here else None

        blobs = []
        for value in values:
            buffer = io.BytesIO()
            pickler = _Pickler(buffer)
            pickler.reference = reference
            pickler.dump(value)
            blobs.append(buffer.getvalue())
        return blobs

    def close(self) -> None:
        """Delete the files; workers that have mapped them keep their content."""
        if self._lifetime is not None:
            self._lifetime.end()
        self._folder = self._lifetime = None

    def _written(self, rows: list[Any]) -> "_Reference | None":
        """Write rows to a file; return None if they are small or cannot be written."""
        path = None
        try:
            path = self._new_path()
            with path.open("wb") as file:
                if _write(rows, file):
                    return _Reference(str(path))
        except Exception:  # noqa: BLE001, S110 - no room, or no pickle: they are sent as they are
            pass
        if path is not None:
            path.unlink(missing_ok=True)
        return None

    def _new_path(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gem-rows-"))
            self._lifetime = Lifetime(self, _delete, self._folder, what="folder of rows")
        return self._folder / f"{os.getpid()}-{next(self._numbers)}.rows"


def _delete(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _write(rows: list[Any], file: io.BufferedWriter) -> bool:
    """Write rows, unless they share so much that their pickles are twice that of the list."""
    most = max(2 * _size_of(rows), _LEAST)
    ends = array("Q")
    for row in rows:
        file.write(dump(row))
        ends.append(file.tell())
        if ends[-1] > most:
            return False
    file.write(ends.tobytes())
    file.write(len(ends).to_bytes(8, "little"))
    return bool(ends) and ends[-1] >= _LEAST


def _size_of(value: Any) -> int:
    counter = _Counter()
    cloudpickle.Pickler(counter).dump(value)
    return counter.size


class _Counter(io.RawIOBase):
    """A file that keeps the number of bytes alone."""

    size = 0

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


class _Reference:
    """Is unpickled as the rows of a file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return FiledRows, (self._path,)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Replaces the rows in the arguments of environments."""

    reference: Any

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, EnvSpec):
            names = getattr(value.load(), "row_arguments", ())
            lists = {name: value.kwargs.get(name) for name in names}
            found = {name: self.reference(one) for name, one in lists.items() if type(one) is list}
            if any(found.values()):
                kwargs = {name: one for name, one in found.items() if one is not None}
                return replace(value, kwargs={**value.kwargs, **kwargs}).__reduce_ex__(4)
        return super().reducer_override(value)
