"""Ask which changes of files stay in a snapshot."""

import os
import tarfile
from collections.abc import Callable, Iterable
from typing import Literal, cast

from gem_sandbox.machines.archive import OPAQUE_HEADER
from gem_sandbox.machines.selection import KEPT, NEEDED, Record
from gem_sandbox.machines.unpacking import is_deleted
from gem_workers.machine import FileChange

__all__ = ["Find", "change_of", "choose"]

_LONGEST_PATH = 4096
Kind = Literal["file", "folder", "replaced", "link", "deleted", "other"]
Find = Callable[[str], tuple[str, bool]]
"""Returns the path in the machine of a member of an archive, and whether the image has it; the path
is empty if the member is not a file of the machine."""


def choose(found: Iterable[Record], keep: Callable[[FileChange], bool], find: Find) -> bytes:
    """Return for each file how it is chosen, as ``Selection.pack`` takes it.

    What is so deep that its path is longer than the kernel takes is not asked for, and not kept.

    Args:
        found: The files, each folder before what it contains.
        keep: Called for each change; returns whether it stays.
        find: Finds the paths of members.
    """
    chosen = bytearray()
    above: list[tuple[str, int, int]] = []
    """The folders above: the path in the archive and its length, and the place in the list."""
    for record in found:
        del above[record.depth :]
        before, length, _ = above[-1] if above else (".", 1, 0)
        length += len(os.fsencode(record.name)) + 1
        is_short = length <= _LONGEST_PATH
        name = f"{before}/{record.name}" if is_short else ""
        above.append((name, length, len(chosen)))
        chosen.append(0)
        if not is_short:
            continue
        path, in_image = find(name)
        kind = cast("Kind", record.kind)
        if not path or keep(FileChange(path, kind, in_image, *record[3:])):
            for _, _, place in above:
                chosen[place] = chosen[place] or NEEDED
            chosen[-1] = KEPT if path or kind != "folder" else NEEDED  # such as the root itself
    return bytes(chosen)


def change_of(member: tarfile.TarInfo, path: str, *, in_image: bool, size: int) -> FileChange:
    """Return the change that a member of an archive stands for.

    Args:
        member: The member.
        path: Its path in the machine.
        in_image: Whether the image has this path.
        size: The bytes of a file; a further name of a file has none in its member.
    """
    kind = _kind_of(member)
    target = member.linkname if kind == "link" else ""
    mode = member.mode & 0o7777 if kind in {"file", "folder", "replaced"} else 0
    return FileChange(path, kind, in_image, target, size if kind == "file" else 0, mode)


def _kind_of(member: tarfile.TarInfo) -> Kind:
    if member.isdir():
        return "replaced" if member.pax_headers.get(OPAQUE_HEADER) else "folder"
    if is_deleted(member):
        return "deleted"
    if member.isreg() or member.islnk():
        return "file"
    return "link" if member.issym() else "other"
