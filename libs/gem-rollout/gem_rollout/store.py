"""Trajectories in a file: JSON Lines, one episode a line, appended as episodes end.

A line is written whole and flushed, so a run that is killed loses the episodes in flight and no
other; a last line that was cut is dropped when the file is opened again.
"""

import contextlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gem_core.errors import ConfigError
from gem_rollout.trajectory import Trajectory

__all__ = ["EpisodeKey", "TrajectoryFile", "read_keys", "read_trajectories"]

_OPENING = b'{"env_id":'
_COMPACT = b'{"env_id":"'
_TURNS = b'"turns":'
_NUMBERS = frozenset({int, float})
_NEVER_INFINITE = frozenset({str, int, bool, type(None)})


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
        except BaseException:  # a full disk, or Ctrl-C
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


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """Which episode a line of a file holds, and whether it ended with an error."""

    env_id: str
    agent: str
    index: int
    seed: int
    source: str
    failed: bool


def read_keys(path: str | os.PathLike[str]) -> Iterator[EpisodeKey]:
    """Yield which episodes a file holds, without reading their turns; much faster than reading all.

    Raises:
        ConfigError: A line is no trajectory; the message has its number.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            yield _key_of(line, f"{path}, line {number},")


def _key_of(line: bytes, where: str) -> EpisodeKey:
    # In texts quotes are escaped, so this is the key of the turns, or one inside of another value:
    # then a bracket is left open.
    head, _, _ = line.partition(_TURNS)
    try:
        return _key_in(json.loads(head.rstrip(b", ") + b"}"))
    except (ValueError, TypeError, KeyError):
        return _key_in(_from_line(line, where).to_dict())


def _key_in(fields: Mapping[str, Any]) -> EpisodeKey:
    return EpisodeKey(
        fields["env_id"],
        fields["agent"],
        fields["index"],
        fields["seed"],
        fields.get("source", ""),
        fields.get("error") is not None,
    )


def _from_line(line: bytes, where: str) -> Trajectory:
    try:
        return Trajectory.from_dict(_loads(line))
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{where} is no trajectory: {error}") from error


def _loads(line: bytes) -> Any:
    """Read a line: by orjson if orjson wrote it, which writes no spaces, four times faster."""
    if line.startswith(_COMPACT):
        import orjson  # noqa: PLC0415 - as below

        with contextlib.suppress(ValueError):
            return orjson.loads(line)
    return json.loads(line)


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
    """Return the trajectory as a line: by orjson, ten times faster, where it changes nothing."""
    import orjson  # noqa: PLC0415 - a game that is only played needs none

    fields = trajectory.to_dict()
    with contextlib.suppress(TypeError, RecursionError):  # what it does not know, or would change
        if _is_finite(fields):
            options = (
                orjson.OPT_APPEND_NEWLINE
                | orjson.OPT_PASSTHROUGH_DATACLASS
                | orjson.OPT_PASSTHROUGH_DATETIME
            )
            return orjson.dumps(fields, default=_finite_plain, option=options)
    # Lone surrogates, which a model's tokenizer can produce, survive as ASCII escapes.
    try:
        text = json.dumps(fields, default=_plain)
    except (TypeError, ValueError):
        text = json.dumps(_plain_keys(fields, ()), default=_plain)
    return text.encode() + b"\n"


def _is_finite(value: Any) -> bool:
    """Tell whether there is no NaN or infinity in it, which orjson would make null."""
    if isinstance(value, dict):
        items: Iterable[Any] = value.values()
    elif isinstance(value, list | tuple):
        items = value
        if value and type(value[0]) in _NUMBERS:  # token ids and log-probabilities are long
            with contextlib.suppress(TypeError, OverflowError):
                return math.isfinite(sum(value))
    else:
        return not isinstance(value, float) or math.isfinite(value)
    for item in items:  # noqa: SIM110 - twice as fast as a generator
        if type(item) not in _NEVER_INFINITE and not _is_finite(item):
            return False
    return True


def _finite_plain(value: Any) -> Any:
    plain = _plain(value)
    if not _is_finite(plain):
        raise TypeError("orjson has no NaN and no infinity.")
    return plain


def _plain(value: Any) -> Any:
    """Return a JSON form of a value that JSON lacks: its own, such as images have, or a list.

    So arrays of numpy and torch keep their values; all else is written as its ``repr``.
    """
    if isinstance(value, type):
        return repr(value)
    if isinstance(value, tuple | Enum):
        return list(value) if isinstance(value, tuple) else value.value
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
