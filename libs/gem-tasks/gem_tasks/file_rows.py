"""The rows of JSON and CSV files: an index of places, and the bytes of the file.

A file is read once, and each of its rows checked; what is kept for a row is where it stands. A
small file stays in memory as it is, a large one on disk, and a compressed one in an unnamed
temporary file. So a million rows cost 16 MB for all environments of a process, beside a small file.
"""

import bz2
import gzip
import io
import lzma
import mmap
import shutil
import tempfile
import zlib
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import accumulate, islice
from pathlib import Path
from typing import IO, Any, Protocol

from gem_core.errors import DataError
from gem_tasks.rows import BATCH, Rows, require_columns, require_types
from gem_tasks.text_files import Csv, Json, Reader, Record

__all__ = [
    "COMPRESSED",
    "FORMATS",
    "FileRows",
    "JoinedRows",
    "Source",
    "file_rows",
    "package_rows",
    "streamed",
]

FORMATS: Mapping[str, type[Reader]] = {"json": Json, "csv": Csv}
"""The reader of each format, by its name in ``datasets``."""
COMPRESSED = (".bz2", ".gz", ".xz", ".zst")
"""The endings of compressed files."""
SMALL = 1 << 20
"""The number of bytes of the largest file that stays in memory."""


class Source(Protocol):
    """A file: a ``Path``, or one that is read as it is downloaded. Its ``str`` is its name."""

    @property
    def suffix(self) -> str: ...

    def open(self, mode: str) -> IO[bytes]: ...


class Content(ABC):
    """The uncompressed bytes of a file."""

    @abstractmethod
    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its end."""

    @abstractmethod
    def part(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end``."""


class _FixedBytes(Content):
    """Bytes that nobody else can change: in memory, or in a mapped file without a name."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data

    def lines(self) -> Iterator[bytes]:
        start, size = 0, len(self._data)
        while start < size:
            end = self._data.find(b"\n", start) + 1 or size
            yield self._data[start:end]
            start = end

    def part(self, start: int, end: int) -> bytes:
        return self._data[start:end]


class _FileOnDisk(Content):
    """A large file, which is opened for each row."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version = _version(path)

    def lines(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            yield from file

    def part(self, start: int, end: int) -> bytes:
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(start)
                found = file.read(end - start)
        except OSError as error:
            raise DataError(f"{self._path} cannot be read any more: {error.strerror}.") from error
        if _version(self._path) != self._version:
            raise DataError(
                f"{self._path} has changed since its rows were read. Make the environment again, "
                f"and let files of more than {SMALL >> 20} MB be while they are used."
            )
        return found


def _version(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


class FileRows(Rows, Sequence[dict[str, Any]]):
    """The rows of a file; see ``Rows``. They are checked as they are read.

    Args:
        content: The bytes of the file.
        reader: Reads its format.
        origin: The name of the file.
        columns: The name and type of each column to read.
        remote: Whether the file is one of the hub.

    Raises:
        DataError: There are no rows, or one of them cannot be read, lacks a column, or has a value
            of the wrong type.
    """

    def __init__(
        self,
        content: Content,
        reader: Reader,
        origin: str,
        columns: Mapping[str, Any],
        *,
        remote: bool = False,
    ) -> None:
        super().__init__(origin, columns)
        self.remote = remote
        self._content, self._reader = content, reader
        self._starts, self._ends = array("Q"), array("Q")
        self.data = self
        found = reader.records(content.lines())
        for records in _checked(found, origin, columns, BATCH, remote=remote):
            self._starts.extend(start for start, _, _ in records)
            self._ends.extend(end for _, end, _ in records)
        if not self._starts:
            raise DataError(f"There are no rows in {origin}.")

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> dict[str, Any]:  # type: ignore[override]
        row = self._reader.row(self._content.part(self._starts[number], self._ends[number]))
        return {name: row[name] for name in self.columns}


class JoinedRows(Rows, Sequence[dict[str, Any]]):
    """The rows of several files, one after another; see ``Rows``.

    Args:
        parts: The rows of each file, with the same columns.
        origin: What error messages call all of them.
    """

    def __init__(self, parts: Sequence[Rows], origin: str) -> None:
        super().__init__(origin, parts[0].columns)
        self.data, self._parts, self.remote = self, parts, parts[0].remote
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, number: int) -> dict[str, Any]:  # type: ignore[override]
        at = range(len(self))[number]
        part = bisect_right(self._ends, at)
        return self._parts[part][at - self._ends[part]]


def file_rows(
    paths: Sequence[Path],
    kind: str,
    origin: str,
    columns: Mapping[str, Any],
    *,
    remote: bool = False,
) -> Rows:
    """Return the rows of some files of one format.

    Args:
        paths: The files, at least one.
        kind: Their format, one of ``FORMATS``.
        origin: What error messages call all of them.
        columns: The name and type of each column to read.
        remote: Whether the files are those of the hub.

    Raises:
        DataError: A file cannot be read, or has no rows, or one that cannot be used.
    """
    parts = [
        FileRows(_content(path), FORMATS[kind](str(path)), str(path), columns, remote=remote)
        for path in paths
    ]
    return parts[0] if len(parts) == 1 else JoinedRows(parts, origin)


def package_rows(data: bytes, origin: str, columns: Mapping[str, Any]) -> Rows:
    """Return the rows of a file of JSON lines in a package.

    Raises:
        DataError: There are no rows, or one of them cannot be used.
    """
    return FileRows(_FixedBytes(data), Json(origin), origin, columns)


def streamed(
    files: Sequence[Source],
    kind: str,
    columns: Mapping[str, Any],
    size: int,
    *,
    remote: bool = False,
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of some files of one format in lists of up to ``size``, nothing kept.

    Raises:
        DataError: A file cannot be read, or has a row that cannot be used.
    """
    for source in files:
        with _opened(source) as file:
            records = FORMATS[kind](str(source)).records(file)
            for batch in _checked(records, str(source), columns, size, remote=remote):
                yield [{name: record.row[name] for name in columns} for record in batch]


def _checked(
    records: Iterator[Record], origin: str, columns: Mapping[str, Any], size: int, *, remote: bool
) -> Iterator[list[Record]]:
    """Yield the records in lists, after a check of their columns and the types of their values."""
    start = 0
    while batch := list(islice(records, size)):
        for number, record in enumerate(batch, start):
            if not columns.keys() <= record.row.keys():
                require_columns(columns, record.row, f"row {number} of {origin}")
        for column, kind in columns.items():
            values = [record.row[column] for record in batch]
            require_types(values, kind, origin, column, start, remote=remote)
        start += len(batch)
        yield batch


def _content(path: Path) -> Content:
    if path.suffix not in COMPRESSED and path.stat().st_size > SMALL:
        return _FileOnDisk(path)
    with _opened(path) as file:
        if path.suffix not in COMPRESSED:
            return _FixedBytes(file.read())
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            return _FixedBytes(
                mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) if copy.tell() else b""
            )


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    """Open a file, decompressed according to its ending.

    Raises:
        DataError: It cannot be read.
    """
    opens: Mapping[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open, ".zst": _zstd}
    try:
        with source.open("rb") as file, opens.get(source.suffix, io.BufferedReader)(file) as lines:
            yield lines
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if not isinstance(source, Path):
            raise  # the connection was lost
        raise DataError(f"{source} cannot be read: {error}") from error


def _zstd(file: IO[bytes]) -> Any:
    try:
        zstandard = import_module("zstandard")
    except ImportError as error:
        raise DataError(
            f"{file.name} needs the package 'zstandard': pip install zstandard"
        ) from error
    return zstandard.open(file)
