"""A root file system where overlayfs cannot be mounted: programs are mounted, the rest is copied.

The folders of programs are the image's own, read-only. What has changed in the others is found by
comparing with a list that was made before a command ran: a changed file has another time of change,
which no command can set. Archives are those of machines with overlayfs.
"""

import contextlib
import errno
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator, Mapping
from typing import IO

from gem_sandbox.machines.archive import OPAQUE_HEADER, extract, no_names_of_users
from gem_sandbox.machines.local.copy_tree import copy_tree
from gem_sandbox.warm.guest import kernel

__all__ = ["Listing", "fill", "listing", "mount_programs", "write_changes"]

Listing = dict[str, tuple[int, int]]
"""The number and the time of change of each path."""

_PROGRAMS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
_TOP = "0"
"""The name of the root's folder in archives."""


def fill(base: int, layers: int, archives: list[int]) -> Listing:
    """Copy an image without its programs, and what was written over it.

    Args:
        base: A descriptor of the image's folder.
        layers: A descriptor of the folder that gets the copy.
        archives: Descriptors of archives: of what was built, if anything was, and of a snapshot or
            nothing (-1).

    Returns:
        What there is without the snapshot.

    Raises:
        OSError: A file cannot be copied, or an archive changes programs.
    """
    os.mkdir(_TOP, 0o755, dir_fd=layers)
    top = os.open(_TOP, os.O_RDONLY | os.O_DIRECTORY, dir_fd=layers)
    programs = _folders_of_programs(base)
    source = os.open(f"/proc/self/fd/{base}", os.O_RDONLY | os.O_DIRECTORY)
    copy_tree(source, top, skip=programs)
    os.close(source)
    for name in programs:
        os.mkdir(name, 0o755, dir_fd=top)
    os.close(top)
    outside = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.fchdir(layers)
    os.chroot(".")  # links of an archive lead nowhere else
    try:
        *built, snapshot = archives
        for archive in built:
            _apply(archive, programs)
        found = listing()
        if snapshot >= 0:
            _apply(snapshot, programs)
        return found
    finally:
        os.fchdir(outside)
        os.chroot(".")
        os.close(outside)


def _folders_of_programs(folder: int) -> frozenset[str]:
    names = set()
    for name in _PROGRAMS:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                names.add(name)
    return frozenset(names)


def mount_programs(base: int, root: str) -> None:
    """Mount the folders of programs of an image, read-only, into a root file system."""
    for name in _folders_of_programs(base):
        mount_read_only(f"/proc/self/fd/{base}/{name}", f"{root}/{name}")


def mount_read_only(source: str, place: str) -> None:
    """Mount a folder, read-only."""
    kernel.mount(source, place, None, kernel.MS_BIND)
    kernel.remount(place, kernel.MS_RDONLY)


def _apply(archive: int, programs: frozenset[str]) -> None:
    """Put the members of an archive over what is there."""
    folders = []
    with (
        _from_its_beginning(archive) as file,
        no_names_of_users(),
        tarfile.open(fileobj=file, mode="r|") as members,
    ):
        for member in members:
            path = f"/{member.name}"
            _, number, *below = member.name.split("/", 3) if "/" in member.name else (".", "")
            if below and (number != _TOP or below[0] in programs):
                raise OSError(errno.EROFS, f"programs cannot be changed without overlayfs: {path}")
            if not member.isdir() or member.pax_headers.get(OPAQUE_HEADER) or not _is_folder(path):
                _remove(path)
            if not (member.ischr() and (member.devmajor, member.devminor) == (0, 0)):
                extract(members, member, "/")
            if member.isdir():
                folders.append((path, member.mtime))
    for path, time in folders:
        os.utime(path, (time, time))


def _from_its_beginning(descriptor: int) -> IO[bytes]:
    file = os.fdopen(os.dup(descriptor), "rb")
    file.seek(0)
    return file


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if _is_folder(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def listing() -> Listing:
    """Return what is in the root's folder, below the current folder."""
    return {path: (status.st_ino, status.st_ctime_ns) for path, status in _walk()}


def _walk() -> Iterator[tuple[str, os.stat_result]]:
    """Yield all paths, folders before what they contain."""
    rest = [_TOP]
    while rest:
        path = rest.pop()
        status = os.lstat(path)
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(path) as found:
                rest += sorted((f"{path}/{one.name}" for one in found), reverse=True)


def write_changes(file: IO[bytes], before: Listing, limit: int) -> None:
    """Write an archive of what has changed below the current folder.

    Args:
        file: Where to write.
        before: What there was.
        limit: Bytes of all files.

    Raises:
        OSError: A file cannot be read, or there are more bytes.
    """
    now = dict(_walk())
    changed = {path for path, found in now.items() if _mark(found) != before.get(path)}
    gone = {path for path in before if path not in now and _is_in_place(path, now, before)}
    needed = {above for path in changed | gone for above in _above(path)}
    total = 0
    with no_names_of_users(), tarfile.open(fileobj=file, mode="w|") as archive:
        for path in sorted({*changed, *gone, *needed, _TOP}):
            if path in gone:
                archive.addfile(_deleted(path))
                continue
            member = archive.gettarinfo(path, f"./{path}")
            if member is None:
                continue  # a socket
            total += member.size
            if total > limit:
                raise OSError(errno.EFBIG, f"the files have more than {limit} bytes")
            if member.isdir() and path in before and before[path][0] != now[path].st_ino:
                member.pax_headers = {OPAQUE_HEADER: "y"}
            if member.isreg():
                with open(path, "rb") as content:
                    archive.addfile(member, content)
            else:
                archive.addfile(member)
        for other in sorted({*os.listdir(), _TOP} - {_TOP}):
            archive.add(other, f"./{other}", recursive=False)


def _mark(status: os.stat_result) -> tuple[int, int]:
    return status.st_ino, status.st_ctime_ns


def _is_in_place(path: str, now: Mapping[str, os.stat_result], before: Listing) -> bool:
    """Return whether the folder of a path is still the same one."""
    above = path.rpartition("/")[0]
    return above in now and now[above].st_ino == before[above][0]


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _deleted(path: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(f"./{path}")
    member.type = tarfile.CHRTYPE
    return member
