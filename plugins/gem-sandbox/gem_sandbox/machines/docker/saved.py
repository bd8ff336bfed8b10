"""What a snapshot of a container holds: the name of an image, or an archive of changed files."""

import io
import json
import posixpath
import tarfile
from collections.abc import Callable
from dataclasses import dataclass

from gem_core.errors import MachineError, SnapshotError
from gem_sandbox.machines.changes import change_of
from gem_sandbox.machines.docker.files import ContainerFiles
from gem_workers.machine import FileChange

__all__ = ["SavedFiles", "saved_changes"]

_MOST_NOT_KEPT = 1 << 34


@dataclass(frozen=True)
class SavedFiles:
    """The files of a machine.

    Args:
        image: The image of the files; empty for the image of the spec.
        changed: Paths that were ever changed.
        deleted: Those of them that were ever deleted.
        removed: Paths to remove from the files of the image.
        archive: What to write over them.
    """

    image: str = ""
    changed: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    removed: tuple[str, ...] = ()
    archive: bytes = b""

    def to_bytes(self) -> bytes:
        """Return it as bytes."""
        head = {
            "image": self.image,
            "changed": sorted(self.changed),
            "deleted": sorted(self.deleted),
            "removed": self.removed,
        }
        return json.dumps(head).encode() + b"\n" + self.archive

    @classmethod
    def from_bytes(cls, data: bytes) -> "SavedFiles":
        """Return the files from the bytes that ``to_bytes`` has written.

        Raises:
            SnapshotError: The data is something else.
        """
        line, _, archive = data.partition(b"\n")
        try:
            head = json.loads(line)
            return cls(
                str(head["image"]),
                frozenset(head["changed"]),
                frozenset(head["deleted"]),
                tuple(head["removed"]),
                archive,
            )
        except (ValueError, TypeError, KeyError) as error:
            raise SnapshotError(f"This is not a snapshot of a container: {error!r}.") from error


def saved_changes(
    files: ContainerFiles,
    image: ContainerFiles,
    changed: frozenset[str],
    deleted: frozenset[str],
    keep: Callable[[FileChange], bool],
    limit: int,
) -> SavedFiles:
    """Return some of the changes of the files of a container.

    Args:
        files: The files.
        image: Those of the image.
        changed: Paths that were ever changed.
        deleted: Those of them that were ever deleted; what is there again hides the image's.
        keep: Called for each change.
        limit: Bytes of all files.

    Raises:
        MachineError: The files have more bytes, or the engine fails.
    """
    selection = _Selection(files, image, keep, limit)
    done = "\0"
    for path in sorted(changed, key=lambda one: one.split("/")):
        if not path.startswith(done) and not selection.take(path, was_deleted=path in deleted):
            done = f"{path}/"
    return selection.saved()


class _Selection:
    """The changes that stay."""

    def __init__(
        self,
        files: ContainerFiles,
        image: ContainerFiles,
        keep: Callable[[FileChange], bool],
        limit: int,
    ) -> None:
        self._files, self._image = files, image
        self._keep, self._limit = keep, limit
        self._removed: list[str] = []
        self._output = io.BytesIO()
        self._archive = tarfile.open(fileobj=self._output, mode="w|")  # noqa: SIM115 - see saved
        self._total = self._read = 0

    def saved(self) -> SavedFiles:
        """Return the files that were taken."""
        self._archive.close()
        return SavedFiles(removed=tuple(self._removed), archive=self._output.getvalue())

    def take(self, path: str, *, was_deleted: bool) -> bool:
        """Take a path, unless it is not kept; return whether to look at what is below it.

        What is below a new folder is taken with it. What is below anything but a folder is not
        there any more, or somewhere else, where a link leads.
        """
        now, before = self._files.stat(path), self._image.stat(path)
        if now is None:
            if before is not None and self._keep(FileChange(path, "deleted", True)):
                self._removed.append(path)
            return False
        if not now.is_folder or before is None:
            self._take_all(path, in_image=before is not None)
            return False
        hides = was_deleted or not before.is_folder
        return self._take_folder(path, hides=hides) or before.is_folder

    def _take_folder(self, path: str, *, hides: bool) -> bool:
        """Take a folder that the image has, without what is in it."""
        if not self._keep(FileChange(path, "replaced" if hides else "folder", True)):
            return False
        if hides:
            self._removed.append(path)
        with self._files.archive(path) as source:
            member = source.next()
            if member is not None:
                member.name = path.lstrip("/")
                self._archive.addfile(member)
        return True

    def _take_all(self, path: str, *, in_image: bool) -> None:
        """Take what is at a path, with all that is below it."""
        above = posixpath.dirname(path)
        kept = dict[str, int]()
        with self._files.archive(path) as source:
            for member in source:
                self._count_read(member)
                place = posixpath.join(above, member.name.rstrip("/"))
                member.name = place.lstrip("/")
                if member.islnk():
                    member.linkname = posixpath.join(above, member.linkname).lstrip("/")
                    if member.linkname not in kept:
                        continue  # the content is in a member that does not stay
                size = kept[member.linkname] if member.islnk() else member.size
                if self._keep(change_of(member, place, in_image=in_image, size=size)):
                    kept[member.name] = size
                    self._add(source, member)

    def _count_read(self, member: tarfile.TarInfo) -> None:
        """Refuse to read on and on: the engine sends what is not kept as well."""
        self._read += member.size
        if self._read > self._limit + _MOST_NOT_KEPT:
            raise MachineError(
                f"The files that are not kept have more than {_MOST_NOT_KEPT} bytes."
            )

    def _add(self, source: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._total += member.size
        if self._total > self._limit:
            raise MachineError(f"The files have more than {self._limit} bytes.")
        self._archive.addfile(member, source.extractfile(member) if member.isreg() else None)
