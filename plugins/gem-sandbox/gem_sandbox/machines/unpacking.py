"""Make the files of an archive again: in a machine, or in a folder of the host.

No link is followed on the way, so that files land where the archive says. Only the standard library
is imported, as machines use this inside.
"""

import contextlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Self, cast

from gem_sandbox.machines.archive import OPAQUE, OPAQUE_HEADER, TYPES
from gem_sandbox.machines.trees import Cursor, opened, remove

__all__ = ["Unpacker", "is_deleted", "members", "unpack", "unpack_layers"]

_DEEPEST = 256
"""Folders inside one another that are copied to the host, whose programs may be recursive."""
_PIECE = 1 << 16
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def members(file: IO[bytes]) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yield the members of an archive, and the content of files; the file must be seekable."""
    with tarfile.open(fileobj=file, mode="r:") as archive:
        while (member := archive.next()) is not None:
            cast("Any", archive).members.clear()  # of which the archive would keep a list
            yield member, archive.extractfile(member) if member.isreg() else None


_Status = tuple[int, int, int, float]
"""The mode, the user, the group and the time of change."""


class Unpacker:
    """Makes files in a folder, and never through a link.

    Args:
        top: A descriptor of the folder.
        owner: Returns the user or group here of one in the archive; None for the same.
        with_owners: Whether files get the owners that the archive names.
    """

    def __init__(
        self,
        top: int,
        *,
        owner: Callable[[int], int] | None = None,
        with_owners: bool = True,
    ) -> None:
        self._owner = owner
        self._with_owners = with_owners
        self._here, self._there = Cursor(top), Cursor(top)
        self._folders: list[tuple[str, _Status]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Give the folders their modes and times, which change with what is put into them."""
        with self._here, self._there:
            if kind is None:
                for name, status in reversed(self._folders):
                    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # replaced
                        self._here.go(_place(name))
                        self._finish(self._here.descriptor, *status)

    def _go_to(self, cursor: Cursor, name: str) -> str:
        """Go to the folder that holds a member; return its name there."""
        folder, _, last = _place(name).rpartition("/")
        cursor.go(folder)
        return last

    def remove(self, name: str) -> None:
        """Remove what is there, with all that is in it."""
        last = self._go_to(self._here, name)
        remove(self._here.descriptor, last)

    def empty(self, name: str) -> None:
        """Remove all that is in a folder; nothing if it is not there."""
        if self.is_folder(name):
            self._here.go(_place(name))
            for one in os.listdir(self._here.descriptor):
                remove(self._here.descriptor, one)

    def make_folders(self, name: str) -> None:
        """Make a folder and those above it, as far as they are not there."""
        self._here.go("")
        for part in filter(None, _place(name).split("/")):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=self._here.descriptor)
            self._here.enter(part)

    def is_folder(self, name: str) -> bool:
        """Return whether a folder is there."""
        if not _place(name):
            return True
        try:
            last = self._go_to(self._here, name)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            status = os.stat(last, dir_fd=self._here.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return stat.S_ISDIR(status.st_mode)

    def add(self, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
        """Make a file, folder, link or device, in the place of another file.

        Raises:
            OSError: It cannot be made.
        """
        uid, gid = member.uid, member.gid
        if self._owner is not None:
            uid, gid = self._owner(uid), self._owner(gid)
        status = member.mode, uid, gid, member.mtime
        if member.isdir():
            self._add_folder(member, status)
            return
        name = self._go_to(self._here, member.name)
        try:
            self._make(name, member, content, status)
        except FileExistsError:
            os.unlink(name, dir_fd=self._here.descriptor)
            self._make(name, member, content, status)

    def _make(
        self, name: str, member: tarfile.TarInfo, content: IO[bytes] | None, status: _Status
    ) -> None:
        folder = self._here.descriptor
        if content is not None:
            with opened(name, _WRITE, folder) as descriptor:
                _copy(content, descriptor)
                self._finish(descriptor, *status)
        elif member.islnk():
            first = self._go_to(self._there, member.linkname)
            ends = {"src_dir_fd": self._there.descriptor, "dst_dir_fd": folder}
            os.link(first, name, **ends, follow_symlinks=False)
        elif member.issym():
            os.symlink(member.linkname, name, dir_fd=folder)
            self._finish_name(name, folder, *status)
        else:
            kind = next(key for key, value in TYPES.items() if value == member.type)
            device = os.makedev(member.devmajor, member.devminor) if member.isdev() else 0
            os.mknod(name, kind | 0o600, device, dir_fd=folder)
            with contextlib.suppress(OSError):
                os.chmod(name, member.mode, dir_fd=folder)
            self._finish_name(name, folder, *status)

    def _add_folder(self, member: tarfile.TarInfo, status: _Status) -> None:
        if _place(member.name):
            name = self._go_to(self._here, member.name)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._here.descriptor)
            self._here.enter(name)
        if value := member.pax_headers.get(OPAQUE_HEADER):
            os.setxattr(self._here.descriptor, OPAQUE, value.encode())
        self._folders.append((member.name, status))

    def _finish(self, descriptor: int, mode: int, uid: int, gid: int, time: float) -> None:
        if self._with_owners:
            with contextlib.suppress(OSError, OverflowError):  # only root has other users
                os.fchown(descriptor, uid, gid)
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, mode)
        with contextlib.suppress(OSError, OverflowError):  # the file system may have no such time
            os.utime(descriptor, (time, time))

    def _finish_name(self, name: str, folder: int, _: int, uid: int, gid: int, time: float) -> None:
        if self._with_owners:
            with contextlib.suppress(OSError, OverflowError):
                os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
        with contextlib.suppress(OSError, OverflowError):
            os.utime(name, (time, time), dir_fd=folder, follow_symlinks=False)


def _place(name: str) -> str:
    """Return the path of a member from the top; empty for the top."""
    return "" if name == "." else name.removeprefix("./")


def _copy(content: IO[bytes], descriptor: int) -> None:
    """Copy the content of a file, with holes where there are only zeros."""
    size = 0
    while data := content.read(_PIECE):
        rest = memoryview(data if data.strip(b"\0") else b"")
        while rest:
            rest = rest[os.pwrite(descriptor, rest, size + len(data) - len(rest)) :]
        size += len(data)
    if size:
        os.ftruncate(descriptor, size)


def unpack_layers(
    file: IO[bytes], folder: str, *, owner: Callable[[int], int] | None = None
) -> None:
    """Restore all that was packed: owners, times, links, devices and opaque folders.

    Args:
        file: The archive; it is trusted, and the files in it are not.
        folder: An empty folder.
        owner: Returns the user or group here of one in the archive; None for the same.

    Raises:
        OSError: A file cannot be made.
        TarError: It is not an archive.
    """
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with Unpacker(top, owner=owner) as unpacker:
            for member, content in members(file):
                unpacker.add(member, content)
    finally:
        os.close(top)


def unpack(file: IO[bytes], folder: str) -> None:
    """Copy an archive of untrusted files into a folder of the host.

    Devices, links that leave the folder, and owners are left out.

    Raises:
        OSError: A file cannot be made, or folders are too deep inside one another.
        TarError: It is not an archive.
    """
    os.makedirs(folder, exist_ok=True)
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with Unpacker(top, with_owners=False) as unpacker:
            for member, content in members(file):
                if member.name.count("/") > _DEEPEST:
                    raise OSError(f"there are more than {_DEEPEST} folders inside one another")
                if not _stays_inside(member):
                    continue
                member.mode = member.mode & 0o777 | (0o700 if member.isdir() else 0o600)
                try:
                    unpacker.add(member, content)
                except FileNotFoundError:
                    if not member.islnk():  # to a file that was left out
                        raise
    finally:
        os.close(top)


def _stays_inside(member: tarfile.TarInfo) -> bool:
    """Return whether a member is a file, folder or link that neither is nor points outside.

    A link may go up only at its beginning, as after the name of another link nobody knows where
    ``..`` leads; and not beyond the folder that is copied.
    """
    parts = member.name.split("/")
    if {"", ".."} & {*parts}:
        return False
    if member.issym():
        target = [part for part in member.linkname.split("/") if part not in {"", "."}]
        ups = next((n for n, part in enumerate(target) if part != ".."), len(target))
        depth = len(parts) - 1
        is_inside = ups < max(1, depth) and ".." not in target[ups:]
        return is_inside and not member.linkname.startswith("/")
    if member.islnk():
        return not member.linkname.startswith("/") and ".." not in member.linkname.split("/")
    return member.isreg() or member.isdir()


def is_deleted(member: tarfile.TarInfo) -> bool:
    """Return whether a member says that the file of the image was deleted."""
    return member.ischr() and (member.devmajor, member.devminor) == (0, 0)
