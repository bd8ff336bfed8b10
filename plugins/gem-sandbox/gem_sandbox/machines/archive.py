"""Archives of the files of a machine: what a snapshot holds, and what is copied to the host.

Only the standard library is imported, as machines use this inside.
"""

import contextlib
import os
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

__all__ = [
    "OPAQUE",
    "OPAQUE_HEADER",
    "TooLargeError",
    "extract",
    "no_names_of_users",
    "pack",
    "unpack",
    "unpack_layers",
]

OPAQUE = "user.overlay.opaque"
OPAQUE_HEADER = f"SCHILY.xattr.{OPAQUE}"
"""The name by which archives hold this extended attribute: the folder hides the one below it."""


_AS_IT_IS: dict[str, Any] = {"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}
"""What is extracted was checked before; the first releases of Python 3.11 have no filters."""


class TooLargeError(OSError):
    """The files have more bytes than allowed."""


def pack(path: str, name: str, file: IO[bytes], limit: int) -> None:
    """Write an archive of a file, or of a folder with all that is in it; sockets are left out.

    Args:
        path: The file or folder.
        name: Its name in the archive.
        file: Where to write.
        limit: Bytes of all files.

    Raises:
        TooLargeError: The files have more bytes.
        OSError: The files cannot be read.
    """
    total = 0

    def note(member: tarfile.TarInfo) -> tarfile.TarInfo:
        nonlocal total
        total += member.size
        if total > limit:
            raise TooLargeError(f"the files have more than {limit} bytes")
        if member.isdir():
            inner = path + member.name.removeprefix(name)
            with contextlib.suppress(OSError):
                member.pax_headers = {OPAQUE_HEADER: os.getxattr(inner, OPAQUE).decode()}
        return member

    with no_names_of_users(), tarfile.open(fileobj=file, mode="w|") as archive:
        archive.add(path, name, filter=note)


def unpack_layers(
    file: IO[bytes], folder: str, *, owner: Callable[[int], int] | None = None
) -> None:
    """Restore all that ``pack`` wrote: owners, times, links, devices and opaque folders.

    Args:
        file: The archive; it is trusted.
        folder: An empty folder.
        owner: Returns the user or group here of one in the archive; None for the same.
    """
    with no_names_of_users(), tarfile.open(fileobj=file, mode="r|") as archive:
        opaque, folders = {}, []
        for member in archive:
            if owner is not None:
                member.uid, member.gid = owner(member.uid), owner(member.gid)
            extract(archive, member, folder)
            if member.isdir():
                folders.append((os.path.join(folder, member.name), member.mtime))
            if value := member.pax_headers.get(OPAQUE_HEADER):
                opaque[os.path.join(folder, member.name)] = value
        for path, value in opaque.items():
            os.setxattr(path, OPAQUE, value.encode())
        for path, time in folders:  # their times change with what is put into them
            os.utime(path, (time, time))


def extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: str) -> None:
    """Restore a member with its owner; it is trusted, or stays inside."""
    archive.extract(member, folder, numeric_owner=True, **_AS_IT_IS)


def unpack(file: IO[bytes], folder: str) -> None:
    """Copy an archive of untrusted files into a folder of the host.

    Devices, links that leave the folder, and owners are left out.
    """
    os.makedirs(folder, exist_ok=True)
    inside = os.path.realpath(folder)
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for member in archive:
            if _stays_inside(member, inside):
                member.uid, member.gid = os.getuid(), os.getgid()
                member.mode = member.mode & 0o777 | (0o700 if member.isdir() else 0o600)
                extract(archive, member, inside)


def _stays_inside(member: tarfile.TarInfo, folder: str) -> bool:
    """Return whether a member is a file, folder or link that neither is nor points outside."""
    place = os.path.join(folder, member.name)
    pointed = [os.path.dirname(place) if member.issym() else place]
    if member.issym():
        pointed.append(os.path.join(os.path.dirname(place), member.linkname))
    elif member.islnk():
        pointed.append(os.path.join(folder, member.linkname))
    elif not (member.isreg() or member.isdir()):
        return False
    return all(f"{os.path.realpath(path)}/".startswith(f"{folder}/") for path in pointed)


@contextlib.contextmanager
def no_names_of_users() -> Iterator[None]:
    """Do not look up users: in a machine, that would load libraries of the machine."""
    module = cast("Any", tarfile)
    before = module.pwd, module.grp
    module.pwd = module.grp = None
    try:
        yield
    finally:
        module.pwd, module.grp = before
