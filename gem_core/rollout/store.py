"""Trajectories in a file: JSON Lines, one episode a line, appended as episodes end.

A line is written whole and flushed, so a run that is killed loses the episodes in flight and no
other; a last line that was cut is dropped when the file is opened again.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gem_core.errors import ConfigError
from gem_core.rollout.trajectory import Trajectory

__all__ = ["TrajectoryFile", "read_trajectories"]

_OPENING = b'{"env_id": '


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
        if self.path.is_file():
            _refuse_other_content(self.path)
            _drop_cut_line(self.path)
        self._file = self.path.open("ab", buffering=0)

    def append(self, trajectory: Trajectory) -> None:
        """Write one trajectory.

        Values that JSON lacks become what their ``to_json`` gives, or their ``repr``.

        Raises:
            OSError: The disk is full or the file is gone; what was written before is intact.
        """
        line = _to_line(trajectory)
        start = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError:
            # What comes next must not continue half a line.
            with contextlib.suppress(OSError):
                self._file.truncate(start)
            raise

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
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            yield _from_line(line, f"{path}, line {number},")


def _from_line(line: bytes, where: str) -> Trajectory:
    try:
        return Trajectory.from_dict(json.loads(line))
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{where} is no trajectory: {error}") from error


def _refuse_other_content(path: Path) -> None:
    with path.open("rb") as file:
        opening = file.read(len(_OPENING))
    if opening != _OPENING[: len(opening)]:
        raise ConfigError(f"{path} holds something other than trajectories; choose another file.")


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


def _to_line(trajectory: Trajectory) -> bytes:
    # Lone surrogates, which a model's tokenizer can produce, survive as ASCII escapes.
    fields = trajectory.to_dict()
    try:
        text = json.dumps(fields, default=_plain)
    except (TypeError, ValueError):
        text = json.dumps(_plain_keys(fields, ()), default=_plain)
    return text.encode() + b"\n"


def _plain(value: Any) -> Any:
    """Return a JSON form of a value that JSON lacks: its own, such as images have, or a list.

    So arrays of numpy and torch keep their values; all else is written as its ``repr``.
    """
    if isinstance(value, type):
        return repr(value)
    as_json = getattr(value, "to_json", None) or getattr(value, "tolist", None)
    return as_json() if callable(as_json) else repr(value)


def _plain_keys(value: Any, above: tuple[int, ...]) -> Any:
    """Return the value with all keys as text, and what contains itself as its ``repr``."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if id(value) in above:
        return repr(value)
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(key): _plain_keys(item, above) for key, item in value.items()}
    return [_plain_keys(item, above) for item in value]
