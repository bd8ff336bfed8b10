"""Trajectory files: JSON Lines, one episode a line, appended as episodes end.

Each line is written whole and flushed, so a run that is killed loses only the episodes in flight.
A last line that was cut off is dropped when the file is opened again. Each line has the version of
its format (``trajectory.VERSION``), so files can be concatenated.
"""

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lifetime
from gem_core.records import json_value
from gem_rollout.records.trajectory import Trajectory, check_version

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "EpisodeKey",
    "TrajectoryFile",
    "is_being_written",
    "private",
    "read_keys",
    "read_records",
    "read_trajectories",
]

T = TypeVar("T")

_OPENINGS = (b'{"version":', b'{"env_id":')
"""The beginnings of lines that this library has written, in this version and before version 1."""
_TURNS = b'"turns":'
_LOCK_ATTEMPTS, _LOCK_PAUSE = 3, 0.02
_SHAPE = bytes(
    ord("0") if one in b"0123456789" else ord("-" if one == ord("-") else " ") for one in range(256)
)
_LONG, _LONG_NEGATIVE = b"0" * 20, b"-" + b"0" * 19
"""Integers that may not fit into 64 bits, each digit a 0: orjson would read them as floats."""
_NUMBERS = frozenset({int, float})
_NEVER_INFINITE = frozenset({str, int, bool, type(None)})


class TrajectoryFile:
    """Appends trajectories to a file; use it as a context manager.

    Args:
        path: The file; if it does not exist it is made, with its folder, for its owner alone.

    Raises:
        ConfigError: The file holds something other than trajectories, or trajectories of a newer
            version of the format; or somebody else has it open.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab", buffering=0, opener=private)  # noqa: SIM115
        try:
            if self.path.is_file():
                _lock(self._file, self.path)
                _refuse_other_content(self.path)
                _drop_cut_line(self.path)
        except BaseException:
            self._file.close()
            raise
        self._lifetime = Lifetime(self, _release, self._file, what="trajectory file")

    def append(self, trajectory: Trajectory) -> None:
        """Write one trajectory.

        Values that JSON lacks are written as their ``to_json()`` or ``tolist()``, or else as their
        ``repr``.

        Raises:
            ClosedError: The file is closed.
            ForkError: This is a fork of the process that opened the file.
            OSError: The disk is full or the file is gone; earlier lines are intact.
        """
        self._lifetime.check()
        line = _to_line(trajectory)
        start = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:])
        except BaseException as error:  # a full disk, or Ctrl-C
            # The next trajectory must not continue half a line.
            with contextlib.suppress(OSError):
                self._file.truncate(start)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from error
            raise

    def close(self) -> None:
        """Close the file, so that others can write it; in a fork this does nothing."""
        self._lifetime.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(file: FileIO, path: Path) -> None:
    """Lock a file until it is closed, where the operating system and the file system can.

    Raises:
        ConfigError: Somebody else has locked it.
    """
    if fcntl is None:
        return
    for attempt in range(_LOCK_ATTEMPTS):  # ``is_being_written`` holds a lock for a moment
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt < _LOCK_ATTEMPTS - 1:
                time.sleep(_LOCK_PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return
    raise ConfigError(
        f"Another run is writing {path}: choose another out, or wait until it has ended."
    )


def is_being_written(path: str | os.PathLike[str]) -> bool:
    """Return whether a ``TrajectoryFile`` has a file open, in any process of this machine.

    It is False if the file does not exist, and where files cannot be locked.
    """
    if fcntl is None:
        return False
    try:
        with Path(path).open("rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _release(file: FileIO) -> None:
    """Unlock and close a file; a fork that has it as well would keep the lock."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
    file.close()


def private(path: str, flags: int) -> int:
    """Open a file that others cannot read if it is new; an ``opener`` of ``open``."""
    return os.open(path, flags, 0o600)


def read_trajectories(path: str | os.PathLike[str]) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, one at a time, without a last line that was cut off.

    Raises:
        ConfigError: A line is not a trajectory or has a newer version of the format; the message
            has its number.
    """
    return read_records(path, Trajectory.from_dict)


def read_records(
    path: str | os.PathLike[str], make: Callable[[Mapping[str, Any]], T]
) -> Iterator[T]:
    """Yield what a function makes of each line of a file, without a last line that was cut off.

    Args:
        path: The file.
        make: Gets the fields of ``Trajectory.to_dict``. It raises a TypeError, ValueError,
            KeyError or AttributeError if they are not those of a trajectory.

    Raises:
        ConfigError: As in ``read_trajectories``.
    """
    for line, where in _lines(path):
        yield _from_line(line, where, make)


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """The identity of an episode in a file, and whether it ended with an error."""

    env_id: str
    agent: str
    index: int
    seed: int
    component: str
    failed: bool


def read_keys(path: str | os.PathLike[str]) -> Iterator[EpisodeKey]:
    """Yield the keys of the episodes in a file; much faster than reading whole trajectories.

    Raises:
        ConfigError: As in ``read_trajectories``.
    """
    for line, where in _lines(path):
        yield _key_of(line, where)


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, str]]:
    """Yield each complete line, and its place for error messages."""
    name = str(path)
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            yield line, f"{name}, line {number},"


def _key_of(line: bytes, where: str) -> EpisodeKey:
    # Quotes in strings are escaped, so this is the key of the turns or a key in a nested value. In
    # the latter case a bracket is left open, and the head cannot be parsed.
    head, _, _ = line.partition(_TURNS)
    try:
        return _key_in(json_value(head.rstrip(b", ") + b"}"))
    except (ValueError, TypeError, KeyError):
        return _key_in(_from_line(line, where, Trajectory.from_dict).to_dict())


def _key_in(fields: Mapping[str, Any]) -> EpisodeKey:
    version = check_version(fields.get("version", 0))
    return EpisodeKey(
        fields["env_id"],
        fields["agent"],
        fields["index"],
        fields["seed"],
        fields["component" if version else "source"],
        fields["error"] is not None,
    )


def _from_line(line: bytes, where: str, make: Callable[[Mapping[str, Any]], T]) -> T:
    try:
        return make(_loads(line))
    except ConfigError as error:
        raise ConfigError(f"{where} cannot be read: {error}.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{where} is not a trajectory: {error}") from error


def _loads(line: bytes) -> Any:
    """Parse a line: with orjson, four times faster than ``json``, unless that changes a value."""
    shape = line.translate(_SHAPE)  # a regular expression takes ten times as long
    if _LONG not in shape and _LONG_NEGATIVE not in shape:
        import orjson  # noqa: PLC0415 - only readers and writers of files pay for it

        try:
            return orjson.loads(line)
        except ValueError:  # it refuses NaN, infinity and lone surrogates
            pass
    return json_value(line)


def _refuse_other_content(path: Path) -> None:
    with path.open("rb") as file:
        line = file.readline()
    if line.endswith(b"\n"):
        try:
            _key_of(line, f"{path}, line 1,")
        except ConfigError as error:
            raise ConfigError(
                f"Trajectories cannot be appended to {path}; choose another file. {error}"
            ) from error
    elif not any(line.startswith(opening[: len(line)]) for opening in _OPENINGS):
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
    """Return the trajectory as a line: by orjson, ten times faster, unless it changes a value."""
    import orjson  # noqa: PLC0415 - only readers and writers of files pay for it

    fields = trajectory.to_dict()
    with contextlib.suppress(TypeError, RecursionError):  # a value that it lacks, or would change
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
    """Return whether a value is without NaN and infinity, which orjson would write as null."""
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
    """Return a JSON form of a value that JSON lacks.

    That is its ``to_json()``, which images have, or its ``tolist()``, which arrays of numpy and
    torch have, or else its ``repr``.
    """
    if isinstance(value, type):
        return repr(value)
    if isinstance(value, tuple | Enum):
        return list(value) if isinstance(value, tuple) else value.value
    as_json = getattr(value, "to_json", None) or getattr(value, "tolist", None)
    return as_json() if callable(as_json) else repr(value)


def _plain_keys(value: Any, above: tuple[int, ...]) -> Any:
    """Return the value with all keys as strings; a value within itself becomes its ``repr``."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if id(value) in above:
        return repr(value)
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(key): _plain_keys(item, above) for key, item in value.items()}
    return [_plain_keys(item, above) for item in value]
