"""A corpus of JSON lines, which are read from the file one by one; it may have many gigabytes.

A line has ``contents`` (a line with the title, then the text), or ``title`` and ``text``, from
which the contents are made. Other keys are returned with it.
"""

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gem_core.errors import DataError
from gem_core.records import json_value

__all__ = ["Passages"]

_ENDS = 1 << 20
"""Number of bytes at the beginning and end of a corpus that identify it."""


class Passages(Sequence[dict[str, Any]]):
    """The passages of a corpus, as mappings with ``contents``.

    Args:
        lines: All lines: bytes, or a file mapped into memory.
        origin: Source of the lines, for messages.
        starts: Start of each line, then the end of the last one; None if unknown.
    """

    def __init__(
        self, lines: bytes | mmap.mmap, origin: str, starts: NDArray[np.int64] | None = None
    ) -> None:
        self.origin = origin
        self._lines = lines
        self.starts = _starts(lines) if starts is None else starts
        if len(self) == 0:
            raise DataError(f"The corpus {origin} is empty.")

    @classmethod
    def open(cls, path: str | Path | None, starts: NDArray[np.int64] | None = None) -> "Passages":
        """Open a corpus; None opens the small one that comes with this package.

        Raises:
            DataError: The corpus cannot be read or is empty.
        """
        if path is None:
            sample = files("gem_tools.search").joinpath("data/corpus.jsonl")
            return cls(sample.read_bytes(), "that comes with gem-tools")
        try:
            with Path(path).open("rb") as file:
                return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), str(path), starts)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            if isinstance(error, DataError):
                raise
            raise DataError(f"The corpus {path} cannot be read: {error}.") from error

    @property
    def fingerprint(self) -> str:
        """Identity of the corpus: its size, and a digest of its beginning and end."""
        size = len(self._lines)
        ends = self._lines[:_ENDS] + self._lines[max(_ENDS, size - _ENDS) :]
        return f"{size}-{hashlib.blake2b(ends, digest_size=8).hexdigest()}"

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        line = self._lines[int(self.starts[number]) : int(self.starts[number + 1])]
        return _passage(line, f"Passage {number} of the corpus {self.origin}")

    def contents(self) -> Iterator[str]:
        """Yield the contents of each passage."""
        return (passage["contents"] for passage in self)


def _starts(lines: bytes | mmap.mmap) -> NDArray[np.int64]:
    starts, position, size = [], 0, len(lines)
    while position < size:
        end = lines.find(b"\n", position)
        end = size if end < 0 else end + 1
        if lines[position:end].strip():
            starts.append(position)
        position = end
    # Blank lines at the end of a passage do no harm: JSON allows space around a value.
    return np.array([*starts, size] if starts else [0], dtype=np.int64)


def _passage(line: bytes, where: str) -> dict[str, Any]:
    try:
        passage = json_value(line)
    except ValueError as error:
        raise DataError(f"{where} is not JSON: {error}: {line[:80]!r}") from error
    if isinstance(passage, dict):
        contents, title, text = (passage.get(key) for key in ("contents", "title", "text"))
        if isinstance(contents, str):
            return passage
        if isinstance(title, str) and isinstance(text, str):
            return {**passage, "contents": f'"{title}"\n{text}'}
    raise DataError(f"{where} has neither contents nor title and text: {line[:80]!r}")
