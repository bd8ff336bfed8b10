"""The folder in which the tasks of an environment take place."""

import contextlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gem_core.lifetimes import Lifetime

__all__ = ["Workspace"]


class Workspace:
    """A temporary folder, deleted on ``close``, when it is dropped, or at exit.

    After ``close``, using it raises ``ClosedError``. In a fork of the process it raises
    ``ForkError``: the folder is the parent's.
    """

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="gem-mcpmark-")).resolve()
        self._lifetime = Lifetime(self, _delete, str(self._path), what="workspace")

    @property
    def path(self) -> Path:
        """The folder."""
        self._lifetime.check()
        return self._path

    def fill(self, source: Path | None) -> None:
        """Replace the content by a copy of ``source``; None empties the folder."""
        self._clear()
        if source is not None:
            shutil.copytree(source, self.path, dirs_exist_ok=True)

    def pack(self) -> bytes:
        """Return the content as bytes."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for folder, entries in _folders(self.path):
                for path in (folder, *(one.path for one in entries if not _is_folder(one))):
                    archive.add(path, os.path.relpath(path, self.path), recursive=False)
        return packed.getvalue()

    def unpack(self, packed: bytes) -> None:
        """Replace the content by the result of ``pack``."""
        self._clear()
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(self.path, filter="tar")

    def close(self) -> None:
        """Delete it; may be called twice."""
        self._lifetime.end()

    def _clear(self) -> None:
        self.path.mkdir(exist_ok=True)
        _empty(self.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _folders(top: Path) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield the folders of a tree, outer ones first, and what is in each; agents nest them deep."""
    rest = [str(top)]
    while rest:
        folder = rest.pop()
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
        yield folder, entries
        rest += [one.path for one in entries if _is_folder(one)]


def _empty(top: Path) -> None:
    """Delete all that is in a folder."""
    found = list(_folders(top))
    for folder, entries in reversed(found):
        for one in entries:
            if not _is_folder(one):
                Path(one.path).unlink()
        if folder != str(top):
            Path(folder).rmdir()


def _delete(path: str) -> None:
    with contextlib.suppress(OSError):
        _empty(Path(path))
        Path(path).rmdir()
