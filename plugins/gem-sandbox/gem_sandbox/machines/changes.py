"""Leave out changes of files from the archive of all that a machine has written."""

import io
import tarfile
from collections.abc import Callable, Iterator
from typing import Literal

from gem_core.machine import FileChange
from gem_sandbox.machines.archive import OPAQUE_HEADER, no_names_of_users

__all__ = ["Find", "filtered", "kind_of"]

Kind = Literal["file", "folder", "replaced", "link", "deleted", "other"]
Find = Callable[[str], tuple[str, bool]]
"""Returns the path in the machine of a member of an archive, and whether the image has it; the path
is empty if the member is not a file of the machine."""


def filtered(data: bytes, keep: Callable[[FileChange], bool], find: Find) -> bytes:
    """Return an archive without some of its changes.

    Args:
        data: The archive.
        keep: Called for each change; returns whether it stays.
        find: Finds the paths of members.
    """
    kept = _kept(data, keep, find)
    needed = {above for name in kept for above in _above(name)}
    output = io.BytesIO()
    with no_names_of_users(), tarfile.open(fileobj=output, mode="w|") as target:
        for member, content in _members(data):
            if member.name in kept:
                target.addfile(member, content)
            elif member.isdir() and member.name in needed:
                member.pax_headers = {}  # the folder of the image shows through it
                target.addfile(member)
    return output.getvalue()


def _kept(data: bytes, keep: Callable[[FileChange], bool], find: Find) -> set[str]:
    """Return the names of the members that stay."""
    kept = set()
    for member, _ in _members(data):
        path, in_image = find(member.name)
        if member.islnk() and member.linkname not in kept:
            continue  # the content is in a member that does not stay
        if not path or keep(FileChange(path, kind_of(member), in_image)):
            kept.add(member.name)
    return kept


def _members(data: bytes) -> Iterator[tuple[tarfile.TarInfo, io.BufferedIOBase | None]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            yield member, content  # type: ignore[misc]


def _above(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def kind_of(member: tarfile.TarInfo) -> Kind:
    """Return what a member of an archive is."""
    if member.isdir():
        return "replaced" if member.pax_headers.get(OPAQUE_HEADER) else "folder"
    if member.ischr() and (member.devmajor, member.devminor) == (0, 0):
        return "deleted"
    if member.isreg() or member.islnk():
        return "file"
    return "link" if member.issym() else "other"
