"""A corpus: JSON lines that are read one by one out of a file, so that they may be many gigabytes.

A line has ``contents`` (a line with the title, then the text), or ``title`` and ``text``, of which
the contents are made. What else it has comes back with it.
"""

import hashlib
import json
import mmap
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gem_core.errors import DataError

__all__ = ["Passages"]

_ENDS = 1 << 20
"""Bytes of the corpus's beginning and end by which it is recognised."""


class Passages(Sequence[dict[str, Any]]):
    """The passages of a corpus, as mappings with ``contents``.

    Args:
        lines: All lines: bytes, or a file mapped into memory.
        origin: Where they are from, for messages.
        starts: Where each line starts, and at last where the last one ends, if that is known.
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
            DataError: It cannot be read, or it is empty.
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
        """Tells this corpus from others: its size, and a digest of its beginning and end."""
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
        """Yield what each passage says."""
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
        passage = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where} is not JSON: {error}: {line[:80]!r}") from error
    if isinstance(passage, dict):
        contents, title, text = (passage.get(key) for key in ("contents", "title", "text"))
        if isinstance(contents, str):
            return passage
        if isinstance(title, str) and isinstance(text, str):
            return {**passage, "contents": f'"{title}"\n{text}'}
    raise DataError(f"{where} has neither contents nor title and text: {line[:80]!r}")
