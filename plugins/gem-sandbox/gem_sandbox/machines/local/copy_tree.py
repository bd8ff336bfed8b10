"""Copy what a machine has written into another one, without an archive in between.

Each name is opened in its folder's descriptor and no link is followed, as the files are not
trusted. Only the standard library is imported, as machines use this inside.
"""

import contextlib
import os
import resource
import stat
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gem_sandbox.machines.archive import OPAQUE

__all__ = ["copy_tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def copy_tree(source: int, target: int, *, skip: Collection[str] = ()) -> None:
    """Copy files with their owners, times, links, devices and opaque folders; not sockets.

    Args:
        source: A descriptor of the folder to copy, whose files nobody changes meanwhile.
        target: A descriptor of an empty folder.
        skip: Names in the folder that are left out.

    Raises:
        OSError: A file cannot be read or written.
    """
    with _many_descriptors():
        _Copy(target).all(_Folder(os.dup(source), os.dup(target), ""), skip)


class _Folder(NamedTuple):
    """A folder that is being copied; its descriptors are its own."""

    source: int
    target: int
    path: str

    def entries(self) -> list[os.DirEntry[str]]:
        with os.scandir(self.source) as found:
            return list(found)

    def close(self) -> None:
        os.close(self.source)
        os.close(self.target)


class _Copy:
    def __init__(self, top: int) -> None:
        self._top = top
        self._first: dict[int, str] = {}
        """The first path of a file with several names, by its number."""

    def all(self, folder: _Folder, skip: Collection[str]) -> None:
        """Copy a folder and all below it, in depth first; with a list, as they may be deep."""
        rest = [(folder, [one for one in folder.entries() if one.name not in skip])]
        while rest:
            folder, entries = rest[-1]
            if not entries:
                rest.pop()
                _take_status(os.fstat(folder.source), folder.target)
                folder.close()
                continue
            entry = entries.pop()
            if entry.is_dir(follow_symlinks=False):
                inner = _inner(folder, entry.name)
                rest.append((inner, inner.entries()))
            else:
                self._file(folder, entry.name, entry.stat(follow_symlinks=False))

    def _file(self, folder: _Folder, name: str, status: os.stat_result) -> None:
        source, target, path = folder
        mode = status.st_mode
        if status.st_nlink > 1:
            first = self._first.setdefault(status.st_ino, path + name)
            if first != path + name:
                os.link(first, name, src_dir_fd=self._top, dst_dir_fd=target, follow_symlinks=False)
                return
        if stat.S_ISREG(mode):
            with _opened(name, _READ, source) as theirs, _opened(name, _WRITE, target) as ours:
                _copy_content(theirs, ours)
                _take_status(status, ours)
            return
        if stat.S_ISSOCK(mode):
            return
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        else:
            os.mknod(name, mode, status.st_rdev, dir_fd=target)
            os.chmod(name, stat.S_IMODE(mode), dir_fd=target)
        os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
        times = status.st_atime_ns, status.st_mtime_ns
        os.utime(name, ns=times, dir_fd=target, follow_symlinks=False)


def _inner(folder: _Folder, name: str) -> _Folder:
    """Begin a folder inside another one."""
    os.mkdir(name, 0o700, dir_fd=folder.target)
    source = os.open(name, _FOLDER, dir_fd=folder.source)
    target = os.open(name, _FOLDER, dir_fd=folder.target)
    with contextlib.suppress(OSError):
        os.setxattr(target, OPAQUE, os.getxattr(source, OPAQUE))
    return _Folder(source, target, f"{folder.path}{name}/")


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


@contextlib.contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _many_descriptors() -> Iterator[None]:
    """Allow as many descriptors as this process may have: each level of folders takes two."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
