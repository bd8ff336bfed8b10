"""The index of a run: its episodes in Parquet, stored beside the run and extended as it grows.

The episodes themselves are only stored in ``trajectories.jsonl``. For each episode the index has a
row of figures, the text to search, and the position of its line, so that one episode is read with a
seek. The index consists of parts. A part covers whole lines; its name contains the range of bytes
and the checksum of the last of them (``<start>-<end>-<checksum>.parquet``). The file names are the
only metadata, so two viewers of one run cannot disagree, and a part that no longer matches the
file is not used.
"""

import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lifetime
from gem_core.records import json_value
from gem_eval.view.tables import (
    EPISODE_COLUMNS,
    RowFile,
    connect,
    episode_row,
    episode_text,
    read_rows,
    temporary_folder,
)
from gem_rollout.records.runs import Run

__all__ = ["INDEX_COLUMNS", "RunIndex", "read_lines"]

INDEX_COLUMNS = {
    "number": "BIGINT",
    "line_start": "BIGINT",
    "line_bytes": "BIGINT",
    **EPISODE_COLUMNS,
    "text": "VARCHAR",
}
"""Columns of the index. ``number`` counts episodes in the order in which they ended."""

_FORMAT = "4"
_PART_ROWS = 4096
_PART_TEXT = 32 << 20
_LONGEST_TEXT = 100_000
_TAIL = 4096
_PART_NAME = re.compile(r"(\d{16})-(\d{16})-([0-9a-f]{8})-(\d+)\.parquet")


@dataclass(frozen=True)
class _Part:
    """A Parquet file of the index: the bytes ``start`` to ``end`` of the run, ``rows`` episodes."""

    path: Path
    start: int
    end: int
    checksum: str
    rows: int

    @classmethod
    def of(cls, path: Path) -> Self | None:
        match = _PART_NAME.fullmatch(path.name)
        if match is None:
            return None
        return cls(path, int(match[1]), int(match[2]), match[3], int(match[4]))


class RunIndex:
    """The index of one run.

    Args:
        run: The run. Its trajectories need not exist yet.
        source: Number of the run that the viewer was given and that this one belongs to.
        evaluated: Number of training steps before this evaluation; None if it is not one.
    """

    def __init__(self, run: Run, source: int = 0, evaluated: int | None = None) -> None:
        self.run, self.source, self.evaluated = run, source, evaluated
        self.trajectories = self.run.trajectories_path
        self._temporary: Lifetime | None = None
        self._folder = self._make_folder()
        self._parts: list[_Part] = []

    @property
    def parts(self) -> list[Path]:
        """The Parquet files, in order."""
        return [part.path for part in self._parts]

    @property
    def episodes(self) -> int:
        """The number of episodes in the index."""
        return sum(part.rows for part in self._parts)

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> bool:
        """Index the episodes that the run has added; return whether anything changed.

        Args:
            progress: Called with the number of bytes read, and the size of the file.

        Raises:
            ConfigError: A line is not a trajectory.
        """
        size = self._size()
        old = [part.path for part in self._parts]
        self._parts = self._known_parts(size)
        last = self._parts[-1] if self._parts else None
        if last is not None and last.end < size and last.rows < _PART_ROWS // 2:
            # A small last part is rewritten with the new lines, to keep the number of parts low.
            self._parts.pop()
        start = self._parts[-1].end if self._parts else 0
        while start < size:
            part = self._write_part(start)
            if part is None:
                break
            self._parts.append(part)
            start = part.end
            if progress is not None:
                progress(start, size)
        return old != self.parts

    def _size(self) -> int:
        """Return the size of the file; 0 if it does not exist, as a training run replaces some."""
        try:
            size = self.trajectories.stat().st_size
        except FileNotFoundError:
            return 0
        self._folder.mkdir(parents=True, exist_ok=True)
        return size

    def read(self, start: int, size: int) -> dict[str, Any]:
        """Return the episode whose line begins at byte ``start`` and has ``size`` bytes."""
        with self.trajectories.open("rb") as file:
            file.seek(start)
            episode: dict[str, Any] = json_value(file.read(size))
        return episode

    def close(self) -> None:
        """Remove the index if it is in a temporary folder."""
        if self._temporary is not None:
            self._temporary.end()

    def _make_folder(self) -> Path:
        name = self.trajectories.stem
        folder = self.trajectories.parent / ".view" / f"{name}-{_FORMAT}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            own = tempfile.mkdtemp(prefix="gem-view-")
            self._temporary = Lifetime(self, shutil.rmtree, own, True, what="index")
            return Path(own)

    def _known_parts(self, size: int) -> list[_Part]:
        """Return the longest chain of valid parts that covers the file from its start."""
        found = [part for path in self._folder.glob("*") if (part := _Part.of(path))]
        chain: list[_Part] = []
        while True:
            start = chain[-1].end if chain else 0
            fitting = [part for part in found if part.start == start and part.end <= size]
            fitting = [part for part in fitting if self._checksum(part.end) == part.checksum]
            if not fitting:
                break
            chain.append(max(fitting, key=lambda part: part.end))
        for part in found:
            if part not in chain:
                part.path.unlink(missing_ok=True)
        return chain

    def _checksum(self, end: int) -> str:
        """Return the checksum of the last bytes before ``end``."""
        with self.trajectories.open("rb") as file:
            file.seek(max(0, end - _TAIL))
            return f"{zlib.crc32(file.read(min(end, _TAIL))):08x}"

    def _write_part(self, start: int) -> _Part | None:
        """Write the part that begins at ``start``; return None if there is no complete line."""
        number = self.episodes
        end, size = start, 0
        with temporary_folder(self._folder) as folder:
            with RowFile(folder / "rows.jsonl") as rows:
                for line_start, line, episode in read_lines(self.trajectories, start):
                    row = _index_row(self.trajectories, line_start, episode)
                    place = {"number": number + rows.rows, "line_start": line_start}
                    rows.append({**place, "line_bytes": len(line), **row})
                    end = line_start + len(line)
                    size += len(row["text"])
                    if rows.rows >= _PART_ROWS or size >= _PART_TEXT:
                        break
            if not rows.rows:
                return None
            written = folder / "part.parquet"
            _to_parquet(rows, written)
            name = f"{start:016}-{end:016}-{self._checksum(end)}-{rows.rows}.parquet"
            path = self._folder / name
            written.replace(path)
        return _Part.of(path)


def _index_row(path: Path, line_start: int, episode: dict[str, Any]) -> dict[str, Any]:
    try:
        return {**episode_row(episode), "text": episode_text(episode, _LONGEST_TEXT)}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{path}, byte {line_start}, is not a trajectory: {what}") from error


def _to_parquet(rows: RowFile, path: Path) -> None:
    with connect() as database:
        try:
            database.execute(
                f"COPY (SELECT * FROM {read_rows(rows, INDEX_COLUMNS)}) TO '{_quoted(path)}' "
                "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)"
            )
        except duckdb.Error as error:
            raise ConfigError(f"{path}: the index cannot be written: {error}") from error


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Yield the position of each line, the line and its episode, without an incomplete last line.

    Raises:
        ConfigError: A line is not a JSON object.
    """
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                episode = json_value(line)
            except ValueError as error:
                raise ConfigError(f"{path}, byte {start}, is not a trajectory: {error}") from error
            if not isinstance(episode, dict):
                raise ConfigError(f"{path}, byte {start}, is not a trajectory: {line[:80]!r}")
            yield start, line, episode
            start += len(line)
