"""The folder in which the tasks of an environment take place."""

import io
import os
import shutil
import tarfile
import tempfile
import weakref
from pathlib import Path

__all__ = ["Workspace"]


class Workspace:
    """A temporary folder, deleted on ``close``, by the garbage collector, or at exit."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="gem-mcpmark-")).resolve()
        self._finalizer = weakref.finalize(self, _delete, str(self.path), os.getpid())

    def fill(self, source: Path | None) -> None:
        """Replace the content by a copy of ``source``; None empties the folder."""
        self._clear()
        if source is not None:
            shutil.copytree(source, self.path, dirs_exist_ok=True)

    def pack(self) -> bytes:
        """Return the content as bytes."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self.path, ".")
        return packed.getvalue()

    def unpack(self, packed: bytes) -> None:
        """Replace the content by the result of ``pack``."""
        self._clear()
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(self.path, filter="tar")

    def close(self) -> None:
        """Delete it."""
        self._finalizer()

    def _clear(self) -> None:
        self.path.mkdir(exist_ok=True)
        for child in self.path.iterdir():
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            else:
                child.unlink()


def _delete(path: str, process: int) -> None:
    if os.getpid() == process:  # a forked child keeps the parent's folder
        shutil.rmtree(path, ignore_errors=True)
