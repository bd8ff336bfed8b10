"""Pack the files of a machine: into what a snapshot holds, and what is copied to the host.

Only the standard library is imported, as machines use this inside.
"""

import contextlib
import errno
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple, Self

from gem_sandbox.machines.trees import opened, walk

__all__ = [
    "OPAQUE",
    "OPAQUE_HEADER",
    "TYPES",
    "Found",
    "Packer",
    "TooLargeError",
    "layers",
    "pack",
    "pack_all",
]

OPAQUE = "user.overlay.opaque"
OPAQUE_HEADER = f"SCHILY.xattr.{OPAQUE}"
"""The name by which archives hold this extended attribute: the folder hides the one below it."""
_LONGEST_PATH = 4096
"""Bytes of the longest path that the kernel takes."""


class TooLargeError(OSError):
    """The files have more bytes than allowed."""


class Found(NamedTuple):
    """What is at a path, or was.

    Args:
        depth: The number of folders between the top and this.
        name: Its name.
        descriptor: As an ``Entry`` has it.
        status: Its status; None for what was deleted.
        is_opaque: Whether it is a folder that hides the one of the image.
    """

    depth: int
    name: str
    descriptor: int
    status: os.stat_result | None
    is_opaque: bool = False


def layers(top: int) -> Iterator[Found]:
    """Yield what is in the upper folders of overlays; sockets are left out."""
    for depth, name, descriptor, status in walk(top):
        is_opaque = False
        if stat.S_ISDIR(status.st_mode):
            with contextlib.suppress(OSError):
                is_opaque = os.getxattr(descriptor, OPAQUE) == b"y"
        if not stat.S_ISSOCK(status.st_mode):
            yield Found(depth, name, descriptor, status, is_opaque)


class Packer:
    """Writes an archive of files that may be hostile.

    Args:
        file: Where to write.
        limit: Bytes of all files, and of what of their paths is longer than a path may be.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._limit, self._total = limit, 0
        self._archive: Any = tarfile.open(fileobj=file, mode="w|")  # noqa: SIM115
        self._first: dict[tuple[int, int], str] = {}
        """The first path of a file with several names."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with contextlib.suppress(*([] if kind is None else [OSError])):
            self._archive.close()

    def add(self, path: str, found: Found, *, is_plain: bool = False) -> None:
        """Write a member.

        Args:
            path: Its path in the archive.
            found: What is there.
            is_plain: Whether it is a folder that belongs to root, whatever it is now, and that
                others cannot change.

        Raises:
            TooLargeError: The files have more bytes than the limit.
            OSError: The file cannot be read.
        """
        member = tarfile.TarInfo(path)
        self._count(max(0, len(os.fsencode(path)) - _LONGEST_PATH))
        if found.status is None:
            member.type = tarfile.CHRTYPE  # as overlayfs marks what was deleted
        else:
            _describe(member, found.status)
        if is_plain:
            member.mode, member.uid, member.gid = 0o755, 0, 0
        if found.is_opaque:
            member.pax_headers = {OPAQUE_HEADER: "y"}
        if member.issym():
            with contextlib.suppress(FileNotFoundError):
                member.linkname = os.readlink(found.name, dir_fd=found.descriptor)
                self._write(member)
        elif member.isreg() and not self._is_known(member, found.status):
            with (
                contextlib.suppress(FileNotFoundError),
                opened(found.name, os.O_RDONLY, found.descriptor) as descriptor,
            ):
                self._count(member.size)
                self._write(member, _Content(descriptor))
        else:
            self._write(member)

    def _is_known(self, member: tarfile.TarInfo, status: os.stat_result | None) -> bool:
        """Make a member of a file that has been written a link to its first name."""
        if status is None or status.st_nlink < 2:
            return False
        first = self._first.setdefault((status.st_dev, status.st_ino), member.name)
        if first == member.name:
            return False
        member.type, member.linkname, member.size = tarfile.LNKTYPE, first, 0
        return True

    def _count(self, size: int) -> None:
        self._total += size
        if self._total > self._limit:
            raise TooLargeError(errno.EFBIG, f"the files have more than {self._limit} bytes")

    def _write(self, member: tarfile.TarInfo, content: "_Content | None" = None) -> None:
        self._archive.addfile(member, content)
        self._archive.members.clear()  # of which the archive would keep a list


TYPES = {
    stat.S_IFREG: tarfile.REGTYPE,
    stat.S_IFDIR: tarfile.DIRTYPE,
    stat.S_IFLNK: tarfile.SYMTYPE,
    stat.S_IFIFO: tarfile.FIFOTYPE,
    stat.S_IFCHR: tarfile.CHRTYPE,
    stat.S_IFBLK: tarfile.BLKTYPE,
}


def _describe(member: tarfile.TarInfo, status: os.stat_result) -> None:
    member.type = TYPES[stat.S_IFMT(status.st_mode)]
    member.mode = stat.S_IMODE(status.st_mode)
    member.uid, member.gid, member.mtime = status.st_uid, status.st_gid, status.st_mtime
    if member.isreg():
        member.size = status.st_size
    if member.isdev():
        member.devmajor, member.devminor = os.major(status.st_rdev), os.minor(status.st_rdev)


class _Content:
    """The content of a file, continued with zeros if the file has become shorter."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, size: int) -> bytes:
        data = os.read(self._descriptor, size)
        while left := size - len(data):
            data += os.read(self._descriptor, left) or bytes(left)
        return data


def pack_all(top: int, found: Iterable[Found], file: IO[bytes], limit: int) -> None:
    """Write an archive of a folder.

    Args:
        top: A descriptor of the folder.
        found: What is to be packed of what is in it.
        file: Where to write.
        limit: Bytes of all files.

    Raises:
        TooLargeError: The files have more bytes.
        OSError: The files cannot be read.
    """
    names = ["."]
    with Packer(file, limit) as packer:
        packer.add(".", Found(0, ".", top, os.fstat(top)))
        for one in found:
            del names[one.depth + 1 :]
            names.append(one.name)
            packer.add("/".join(names), one)


def pack(path: str, file: IO[bytes], limit: int) -> None:
    """Write an archive of a file, or of a folder with all that is in it; sockets are left out.

    Args:
        path: The file or folder; members are named after its end.
        file: Where to write.
        limit: Bytes of all files.

    Raises:
        TooLargeError: The files have more bytes.
        OSError: The files cannot be read.
    """
    above, name = os.path.split(path.rstrip("/"))
    folder = os.open(above or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    names: list[str] = []
    try:
        with Packer(file, limit) as packer:
            for entry in walk(folder, [name] if name else None):
                del names[entry.depth :]
                names.append(entry.name)
                if not stat.S_ISSOCK(entry.status.st_mode):
                    packer.add("/".join(names), Found(*entry))
    finally:
        os.close(folder)
