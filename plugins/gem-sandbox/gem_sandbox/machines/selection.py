"""Pack only some of the files that were found: they are listed first, and then chosen.

Only the standard library is imported, as machines use this inside.
"""

import marshal
import os
import stat
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from gem_sandbox.machines.archive import Found, Packer
from gem_sandbox.machines.trees import Cursor

__all__ = ["KEPT", "NEEDED", "Record", "Selection", "offer", "records"]

KEPT, NEEDED = 1, 2
"""How a file is chosen; the folders above those that are kept are needed, with the permissions that
such folders have in images. Others have 0."""
_BATCH = 1000
_LENGTH = 4


class Record(NamedTuple):
    """What is known of a file before it is packed.

    Args:
        depth: The number of folders between the top and this.
        name: Its name.
        kind: As a ``FileChange`` has it.
        target: Where a link leads.
        size: Bytes of a regular file.
        mode: Permissions of a regular file or a folder.
    """

    depth: int
    name: str
    kind: str
    target: str = ""
    size: int = 0
    mode: int = 0


class Selection:
    """Files of a folder, of which some will be packed.

    Args:
        top: A descriptor of the folder, which nobody changes meanwhile; what changes nevertheless
            is packed as it is then, or left out.
        found: What is in it.
    """

    def __init__(self, top: int, found: Iterable[Found]) -> None:
        self._top, self._found = top, found
        self._depths, self._kinds = array("I"), bytearray()
        self._names: list[bytes] = []

    def __len__(self) -> int:
        return len(self._depths)

    def records(self) -> Iterator[Record]:
        """Yield all files, and note them; to be called once."""
        for found in self._found:
            record = _record(found)
            self._depths.append(record.depth)
            self._kinds += record.kind[:1].encode()
            self._names.append(os.fsencode(record.name))
            yield record

    def pack(self, chosen: Sequence[int], file: IO[bytes], limit: int) -> None:
        """Write an archive of the chosen files.

        Args:
            chosen: ``KEPT``, ``NEEDED`` or 0 for each record.
            file: Where to write.
            limit: Bytes of all files.

        Raises:
            TooLargeError: The files have more bytes.
            OSError: The files cannot be read.
        """
        above: list[str] = []
        with Packer(file, limit) as packer, Cursor(self._top) as cursor:
            packer.add(".", Found(0, ".", self._top, os.fstat(self._top)))
            for depth, kind, raw, choice in zip(
                self._depths, self._kinds.decode(), self._names, chosen, strict=True
            ):
                del above[depth:]
                name = os.fsdecode(raw)
                if choice and (found := _found(cursor, above, name, kind, choice)) is not None:
                    path = "/".join((".", *above, name))
                    packer.add(path, found, is_plain=choice == NEEDED)
                above.append(name)


def _record(found: Found) -> Record:
    depth, name, descriptor, status, is_opaque = found
    if status is None:
        return Record(depth, name, "deleted")
    kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
    if kind == stat.S_IFDIR:
        return Record(depth, name, "replaced" if is_opaque else "folder", mode=mode)
    if kind == stat.S_IFREG:
        return Record(depth, name, "file", size=status.st_size, mode=mode)
    if kind == stat.S_IFLNK:
        return Record(depth, name, "link", os.readlink(name, dir_fd=descriptor))
    is_deleted = kind == stat.S_IFCHR and status.st_rdev == 0
    return Record(depth, name, "deleted" if is_deleted else "other")


def _found(cursor: Cursor, above: Sequence[str], name: str, kind: str, choice: int) -> Found | None:
    """Return the entry that has the name now; None if it has gone."""
    depth = len(above)
    if kind == "d":
        return Found(depth, name, -1, None)
    try:
        cursor.go("/".join(above))
        status = os.stat(name, dir_fd=cursor.descriptor, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    is_opaque = kind == "r" and choice == KEPT and stat.S_ISDIR(status.st_mode)
    return Found(depth, name, cursor.descriptor, status, is_opaque)


def offer(selection: Selection, file: IO[bytes], limit: int) -> None:
    """Send the records to the other end, receive what is chosen, and send the archive.

    Raises:
        TooLargeError: The files have more bytes than the limit.
        OSError: The files cannot be read.
    """
    batch: list[tuple[Any, ...]] = []
    for record in selection.records():
        batch.append((*record,))
        if len(batch) == _BATCH:
            _send(file, batch)
            batch.clear()
    _send(file, batch)
    _send(file, [])
    file.flush()
    chosen = file.read(len(selection))
    if len(chosen) == len(selection):
        selection.pack(chosen, file, limit)
        file.flush()


def _send(file: IO[bytes], batch: list[tuple[Any, ...]]) -> None:
    data = marshal.dumps(batch)
    file.write(len(data).to_bytes(_LENGTH, "little") + data)


def records(file: IO[bytes]) -> Iterator[Record]:
    """Receive the records that ``offer`` sends; fewer, if the other end has ended."""
    while length := int.from_bytes(file.read(_LENGTH), "little"):
        data = file.read(length)
        if len(data) < length:
            return
        batch = marshal.loads(data)  # noqa: S302 - of our own process in the machine
        if not batch:
            return
        for record in batch:
            yield Record(*record)
