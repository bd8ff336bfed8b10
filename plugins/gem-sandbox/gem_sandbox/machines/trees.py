"""Trees of folders that nobody trusts, of any depth and with any names.

A tree is walked by one descriptor, from folder to folder: so no path is too long, no link leads
elsewhere, and nothing is recursive. Only the standard library is imported, as machines use this
inside.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

__all__ = ["Cursor", "Entry", "make_folders", "opened", "remove", "remove_folder", "walk"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (FileNotFoundError, NotADirectoryError)


class Cursor:
    """A folder of a tree, from which one goes to its neighbours.

    Args:
        top: A descriptor of the tree's folder.
    """

    def __init__(self, top: int) -> None:
        self.descriptor = os.open(".", _FOLDER, dir_fd=top)
        """The descriptor of the folder."""
        self.path = ""
        """Its path from the top; empty for the top."""
        self._above: list[tuple[int, int]] = []

    def enter(self, name: str) -> None:
        """Go to a folder in this one.

        Raises:
            OSError: There is none.
        """
        inner = os.open(name, _FOLDER, dir_fd=self.descriptor)
        self._above.append(_identity(self.descriptor))
        self.path = f"{self.path}/{name}" if self.path else name
        self._go(inner)

    def leave(self) -> None:
        """Go to the folder that holds this one.

        Raises:
            OSError: The folder was moved since.
        """
        self._go(os.open("..", _FOLDER, dir_fd=self.descriptor))
        self.path = self.path.rpartition("/")[0]
        if _identity(self.descriptor) != self._above.pop():
            raise OSError(errno.ESTALE, "a folder was moved meanwhile")

    def go(self, path: str) -> None:
        """Go to a folder, given by its path from the top.

        Raises:
            OSError: There is none, or a folder was moved.
        """
        while self.path and self.path != path and not path.startswith(f"{self.path}/"):
            self.leave()
        rest = path.removeprefix(self.path).lstrip("/")
        for name in rest.split("/") if rest else ():
            self.enter(name)

    def _go(self, descriptor: int) -> None:
        os.close(self.descriptor)
        self.descriptor = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


class Entry(NamedTuple):
    """What a walk finds.

    Args:
        depth: The number of folders between the top and this.
        name: Its name.
        descriptor: The descriptor of a folder itself, or of the folder that holds something else;
            open until the next entry is asked for.
        status: Its status.
    """

    depth: int
    name: str
    descriptor: int
    status: os.stat_result


def walk(top: int, names: Iterable[str] | None = None) -> Iterator[Entry]:
    """Yield what is in a folder, in the order of names, each folder before what it contains.

    What goes meanwhile is left out.

    Args:
        top: A descriptor of the folder.
        names: Names to begin with; None for all that are there.

    Raises:
        OSError: A folder cannot be read, or was moved meanwhile.
    """
    with Cursor(top) as cursor:
        rest = [_names(cursor.descriptor) if names is None else sorted(names, reverse=True)]
        while rest:
            if not rest[-1]:
                rest.pop()
                if rest:
                    cursor.leave()
                continue
            name, depth = rest[-1].pop(), len(rest) - 1
            with contextlib.suppress(*_GONE):
                status = os.stat(name, dir_fd=cursor.descriptor, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    cursor.enter(name)
                    rest.append([])
                    status = os.fstat(cursor.descriptor)
                yield Entry(depth, name, cursor.descriptor, status)
                if len(rest) > depth + 1:
                    rest[-1] = _names(cursor.descriptor)


def _names(folder: int) -> list[str]:
    """Return the names in a folder, the last one first."""
    return sorted(os.listdir(folder), reverse=True)


def remove(folder: int, name: str) -> None:
    """Remove a file, or a folder with all that is in it; nothing if there is none.

    Args:
        folder: A descriptor of the folder that holds it.
        name: Its name.

    Raises:
        OSError: Something cannot be removed.
    """
    with Cursor(folder) as cursor:
        rest = [[name]]
        while rest:
            if not rest[-1]:
                rest.pop()
                if rest:
                    done = cursor.path.rpartition("/")[2]
                    cursor.leave()
                    os.rmdir(done, dir_fd=cursor.descriptor)
                continue
            name = rest[-1].pop()
            try:
                os.unlink(name, dir_fd=cursor.descriptor)
            except IsADirectoryError:
                _enter_to_remove(cursor, name)
                rest.append(os.listdir(cursor.descriptor))
            except FileNotFoundError:
                pass


def remove_folder(path: str) -> None:
    """Remove a folder with all that is in it, whatever the modes; nothing if there is none.

    Raises:
        OSError: Something cannot be removed.
    """
    above, name = os.path.split(path)
    with contextlib.suppress(FileNotFoundError):
        folder = os.open(above or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove(folder, name)
        finally:
            os.close(folder)


def _enter_to_remove(cursor: Cursor, name: str) -> None:
    try:
        cursor.enter(name)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=cursor.descriptor)
        cursor.enter(name)


def make_folders(path: str) -> None:
    """Make a folder and the folders above it, as far as they are not there.

    Raises:
        OSError: It cannot be made.
    """
    at = 0
    while at >= 0:
        at = path.find("/", at + 1)
        part = path if at < 0 else path[:at]
        try:
            os.mkdir(part)
        except OSError as error:
            if not os.path.isdir(part):
                if isinstance(error, FileExistsError):
                    raise NotADirectoryError(errno.ENOTDIR, f"{part!r} is not a folder") from error
                raise


@contextlib.contextmanager
def opened(name: str, flags: int, folder: int) -> Iterator[int]:
    """Open a file of a folder, never through a link and without waiting for a pipe."""
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
