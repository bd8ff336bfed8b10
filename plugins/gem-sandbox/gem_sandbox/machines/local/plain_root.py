"""A root file system where overlayfs cannot be mounted: programs are mounted, the rest is copied.

The folders of programs are the image's own, read-only. What has changed in the others is found by
comparing with a list that was made before a command ran: a changed file has another time of change,
which no command can set. Archives are those of machines with overlayfs.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO

from gem_sandbox.machines.archive import OPAQUE_HEADER, Found, pack_all
from gem_sandbox.machines.archive import layers as upper_folders
from gem_sandbox.machines.local.copy_tree import copy_tree
from gem_sandbox.machines.trees import Entry, walk
from gem_sandbox.machines.unpacking import Unpacker, is_deleted, members
from gem_sandbox.warm.guest import kernel

__all__ = ["Listing", "changes", "fill", "mount_programs", "mount_read_only"]

Listing = dict[str, tuple[int, int]]
"""The number and the time of change of each path."""

_PROGRAMS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
_LIMIT = 1 << 40
_TOP = "0"
"""The name of the root's folder in archives."""


def fill(base: int, layers: int, built: list[int], snapshot: int) -> Listing:
    """Copy an image without its programs, and what was written over it.

    Args:
        base: A descriptor of the image's folder.
        layers: A descriptor of the folder that gets the copy.
        built: Descriptors of what was built: a folder for each layer, the lowest first.
        snapshot: A descriptor of the archive of a snapshot; -1 for none.

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
    for layer in built:
        with os.fdopen(os.memfd_create("layer"), "w+b") as archive:
            pack_all(layer, upper_folders(layer), archive, _LIMIT)
            archive.flush()
            _apply(archive.fileno(), layers, programs)
    found = _listing(layers)
    if snapshot >= 0:
        _apply(snapshot, layers, programs)
    return found


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


def _apply(archive: int, layers: int, programs: frozenset[str]) -> None:
    """Put the members of an archive over what is there."""
    with _from_its_beginning(archive) as file, Unpacker(layers) as unpacker:
        for member, content in members(file):
            path = member.name.removeprefix("./")
            number, *below = path.split("/", 2)
            if below and (number != _TOP or below[0] in programs):
                raise OSError(errno.EROFS, f"programs cannot be changed without overlayfs: /{path}")
            hides = member.pax_headers.get(OPAQUE_HEADER)
            member.pax_headers = {}
            if path != "." and not (member.isdir() and not hides and unpacker.is_folder(path)):
                unpacker.remove(path)
            if not is_deleted(member):
                unpacker.add(member, content)


def _from_its_beginning(descriptor: int) -> IO[bytes]:
    file = os.fdopen(os.dup(descriptor), "rb")
    file.seek(0)
    return file


def _listing(layers: int) -> Listing:
    """Return the listing of the root's folder."""
    found: Listing = {}
    names: list[str] = []
    for entry in walk(layers, [_TOP]):
        del names[entry.depth :]
        names.append(entry.name)
        found["/".join(names)] = _mark(entry.status)
    return found


def _mark(status: os.stat_result) -> tuple[int, int]:
    return status.st_ino, status.st_ctime_ns


class _Folder:
    """A folder that is being compared.

    Args:
        found: The folder.
        path: Its path, if the image has it; else empty.
        left: The names in the image's folder that were not found yet, if this is the same folder.
    """

    def __init__(self, found: Found, path: str, left: set[str]) -> None:
        self.found, self.path, self.left = found, path, left
        self.is_told = False


def changes(layers: int, before: Listing) -> Iterator[Found]:
    """Yield what has changed, and the folders above it; sockets are left out.

    Args:
        layers: A descriptor of the folder that holds the root's folder.
        before: What there was.
    """
    comparison = _Comparison(before)
    for entry in walk(layers):
        yield from comparison.leave_until(entry.depth)
        if not stat.S_ISSOCK(entry.status.st_mode):
            yield from comparison.add(entry)
    yield from comparison.leave_until(0)


class _Comparison:
    def __init__(self, before: Listing) -> None:
        self._before = before
        self._inside: dict[str, set[str]] = {}
        for path in before:
            folder, _, name = path.rpartition("/")
            self._inside.setdefault(folder, set()).add(name)
        self._above: list[_Folder] = []

    def add(self, entry: Entry) -> Iterator[Found]:
        depth, name, descriptor, status = entry
        path = name
        if self._above:
            self._above[-1].left.discard(name)
            path = f"{above}/{name}" if (above := self._above[-1].path) else ""
        known = self._before.get(path)
        has_changed = known != _mark(status) or depth == 0
        if stat.S_ISDIR(status.st_mode):
            is_same = known is not None and known[0] == status.st_ino
            found = Found(depth, name, -1, status, known is not None and not is_same)
            left = set(self._inside.get(path, ())) if is_same else set()
            self._above.append(_Folder(found, path if known else "", left))
            if has_changed:
                yield from self._tell()
        elif has_changed:
            yield from self._tell()
            yield Found(depth, name, descriptor, status)

    def leave_until(self, depth: int) -> Iterator[Found]:
        """Leave folders, and tell what is not in them any more."""
        while len(self._above) > depth:
            for name in sorted(self._above[-1].left):
                yield from self._tell()
                yield Found(len(self._above), name, -1, None)
            self._above.pop()

    def _tell(self) -> Iterator[Found]:
        """Yield the folders above that were not yet yielded."""
        for folder in self._above:
            if not folder.is_told:
                folder.is_told = True
                yield folder.found
