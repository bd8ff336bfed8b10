"""Copy what a machine has written into another one, without an archive in between.

Only the standard library is imported, as machines use this inside.
"""

import contextlib
import os
import stat
from collections.abc import Collection

from gem_sandbox.machines.archive import OPAQUE
from gem_sandbox.machines.trees import Cursor, Entry, opened, walk

__all__ = ["copy_tree"]

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def copy_tree(source: int, target: int, *, skip: Collection[str] = ()) -> None:
    """Copy files with their owners, times, links, devices and opaque folders; not sockets.

    Args:
        source: A descriptor of the folder to copy, whose files nobody changes meanwhile.
        target: A descriptor of an empty folder.
        skip: Names in the folder that are left out.

    Raises:
        OSError: A file cannot be read or written.
    """
    names = [name for name in os.listdir(source) if name not in skip]
    with Cursor(target) as here, Cursor(target) as elsewhere:
        copy = _Copy(here, elsewhere)
        for entry in walk(source, names):
            copy.leave_until(entry.depth)
            copy.add(entry)
        copy.leave_until(0)
    _take_status(os.fstat(source), target)


_Path = tuple["_Path", str] | None
"""A folder and a name in it; None for the top. So a path takes little memory, however deep."""


class _Copy:
    def __init__(self, here: Cursor, elsewhere: Cursor) -> None:
        self._here, self._elsewhere = here, elsewhere
        self._open: list[os.stat_result] = []
        """The status of the folders that are being copied, which a copy gets at its end."""
        self._path: _Path = None
        self._first: dict[tuple[int, int], _Path] = {}
        """The first path of a file with several names, by its file system and number."""

    def leave_until(self, depth: int) -> None:
        while len(self._open) > depth:
            _take_status(self._open.pop(), self._here.descriptor)
            self._here.leave()
            self._path = self._path and self._path[0]

    def add(self, entry: Entry) -> None:
        mode = entry.status.st_mode
        if stat.S_ISDIR(mode):
            self._add_folder(entry)
        elif not stat.S_ISSOCK(mode) and not self._is_linked(entry):
            if stat.S_ISREG(mode):
                self._add_file(entry)
            else:
                self._add_other(entry)

    def _add_folder(self, entry: Entry) -> None:
        os.mkdir(entry.name, 0o700, dir_fd=self._here.descriptor)
        self._here.enter(entry.name)
        self._path = self._path, entry.name
        self._open.append(entry.status)
        with contextlib.suppress(OSError):
            os.setxattr(self._here.descriptor, OPAQUE, os.getxattr(entry.descriptor, OPAQUE))

    def _is_linked(self, entry: Entry) -> bool:
        """Make a further name of a file, if it was copied under its first one."""
        if entry.status.st_nlink < 2:
            return False
        path = self._path, entry.name
        first = self._first.setdefault((entry.status.st_dev, entry.status.st_ino), path)
        if first is path:
            return False
        *above, name = _names(first)
        self._elsewhere.go("/".join(above))
        ends = {"src_dir_fd": self._elsewhere.descriptor, "dst_dir_fd": self._here.descriptor}
        os.link(name, entry.name, **ends, follow_symlinks=False)
        return True

    def _add_file(self, entry: Entry) -> None:
        with (
            opened(entry.name, os.O_RDONLY, entry.descriptor) as theirs,
            opened(entry.name, _WRITE, self._here.descriptor) as ours,
        ):
            _copy_content(theirs, ours)
            _take_status(entry.status, ours)

    def _add_other(self, entry: Entry) -> None:
        name, folder, status = entry.name, self._here.descriptor, entry.status
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=entry.descriptor), name, dir_fd=folder)
        else:
            os.mknod(name, status.st_mode, status.st_rdev, dir_fd=folder)
            os.chmod(name, stat.S_IMODE(status.st_mode), dir_fd=folder)
        os.chown(name, status.st_uid, status.st_gid, dir_fd=folder, follow_symlinks=False)
        times = status.st_atime_ns, status.st_mtime_ns
        os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)


def _names(path: _Path) -> list[str]:
    names = []
    while path is not None:
        path, name = path
        names.append(name)
    return names[::-1]


def _take_status(status: os.stat_result, descriptor: int) -> None:
    """Give a file or folder the owner, mode and times of another one."""
    os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))


def _copy_content(source: int, target: int) -> None:
    """Copy the content of a file, its holes left out."""
    size = os.fstat(source).st_size
    end = 0
    while end < size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            break
        end = os.lseek(source, start, os.SEEK_HOLE)
        os.lseek(target, start, os.SEEK_SET)
        while start < end and (sent := os.sendfile(target, source, start, end - start)):
            start += sent
    os.ftruncate(target, size)
