"""Reads the files of a task folder, which anybody may have written.

Nothing outside the folder is read, whatever its links say, and there are limits for sizes.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gem_core.errors import ConfigError

__all__ = ["has_file", "read_bytes", "read_files", "read_text"]

_TEXT_LIMIT = 1 << 20
_TREE_LIMIT = 1 << 27
_COUNT_LIMIT = 10_000


def has_file(folder: Path, name: str) -> bool:
    """Return whether there is something of a name in the folder of a task.

    Raises:
        ConfigError: The folder cannot be read.
    """
    try:
        return (folder / name).exists()
    except OSError as error:
        raise ConfigError(f"{folder / name} cannot be read: {error}.") from error


def read_bytes(folder: Path, name: str, *, limit: int = _TREE_LIMIT) -> bytes:
    """Return the content of a file of a task.

    Args:
        folder: The folder of the task.
        name: The file's path below it.
        limit: Bytes that it may have.

    Raises:
        ConfigError: It is missing, not a regular file, too large, outside the folder or unreadable.
    """
    path = folder / name
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            raise ConfigError(f"{path} is a link to a file outside the task.")
        # A pipe or a device could be there: look at what was opened, and do not wait.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{path} is not a regular file.")
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(limit + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing.") from None
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    if len(content) > limit:
        raise ConfigError(f"{path} has more than {limit:,} bytes.")
    return content


def read_text(folder: Path, name: str, *, limit: int = _TEXT_LIMIT) -> str:
    """Return the text of a UTF-8 file of a task, without a byte order mark.

    Raises:
        ConfigError: It cannot be read (see ``read_bytes``), or is not UTF-8.
    """
    try:
        return read_bytes(folder, name, limit=limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{folder / name} is not UTF-8: {error}.") from error


def read_files(folder: Path, name: str, *, limit: int = _TREE_LIMIT) -> dict[str, bytes]:
    """Return the files below a folder of a task, by their relative paths, sorted.

    Args:
        folder: The folder of the task.
        name: The folder's path below it; it need not exist.
        limit: Bytes that all files may have.

    Raises:
        ConfigError: There are too many files, or one cannot be read or has an unusual name.
    """
    top = folder / name
    files: dict[str, bytes] = {}
    for path in _walk(top):
        relative = path.relative_to(top).as_posix()
        try:
            relative.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{relative!a} in {top} is not a UTF-8 name.") from None
        if len(files) == _COUNT_LIMIT:
            raise ConfigError(f"{top} has more than {_COUNT_LIMIT:,} files.")
        files[relative] = read_bytes(folder, f"{name}/{relative}", limit=limit)
        limit -= len(files[relative])
    return dict(sorted(files.items()))


def _walk(top: Path) -> Iterator[Path]:
    """Yield the paths of all that is not a folder; a link to a folder is an error."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise ConfigError(f"{error.filename!a} cannot be read: {error.strerror}.")

    if top.is_symlink():
        raise ConfigError(f"{top} is a link to a folder.")
    for parent, folders, names in os.walk(top, onerror=fail):
        for each in folders:
            if Path(parent, each).is_symlink():
                raise ConfigError(f"{Path(parent, each)} is a link to a folder.")
        yield from (Path(parent, each) for each in names)
