"""Trajectories in a file: JSON Lines, one episode a line, appended as episodes end.

A line is written whole and flushed, so a run that is killed loses the episodes in flight and no
other; a last line that was cut is dropped when the file is opened again.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gem_core.errors import ConfigError
from gem_core.rollout.trajectory import Trajectory

__all__ = ["TrajectoryFile", "read_trajectories"]


class TrajectoryFile:
    """Appends trajectories to a file; use it as a context manager.

    Args:
        path: The file; its folder is made if it is not there.

    Raises:
        ConfigError: The file holds something other than trajectories.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            _drop_cut_line(self.path)
        self._file = self.path.open("a", encoding="utf-8")

    def append(self, trajectory: Trajectory) -> None:
        """Write one trajectory; values that JSON lacks are written as their ``repr``.

        Raises:
            OSError: The disk is full or the file is gone; what was written before is intact.
        """
        # Lone surrogates, which a model's tokenizer can produce, survive as escapes.
        line = json.dumps(trajectory.to_dict(), ensure_ascii=True, default=_plain)
        self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_trajectories(path: str | os.PathLike[str]) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, one at a time; a last line that was cut is left out.

    Raises:
        ConfigError: A line is no trajectory; the message has its number.
    """
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith("\n"):
                return
            try:
                yield Trajectory.from_dict(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise ConfigError(f"{path}, line {number}, is no trajectory: {error}") from error


def _drop_cut_line(path: Path) -> None:
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        position = end
        while position > 0:
            start = max(0, position - 65536)
            file.seek(start)
            newline = file.read(position - start).rfind(b"\n")
            if newline >= 0:
                position = start + newline + 1
                break
            position = start
        if position < end:
            file.truncate(position)


def _plain(value: Any) -> Any:
    """Return a JSON form of a value that JSON lacks; numpy scalars keep their value."""
    return value.item() if hasattr(value, "item") else repr(value)
