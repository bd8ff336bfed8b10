"""The folder in which one environment's tasks take place."""

import io
import os
import shutil
import tarfile
import tempfile
import weakref
from pathlib import Path

__all__ = ["Workspace"]


class Workspace:
    """A temporary folder, deleted when it is closed, collected, or the program ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="gem-mcpmark-")).resolve()
        self._finalizer = weakref.finalize(self, _delete, str(self.path), os.getpid())

    def fill(self, source: Path | None) -> None:
        """Replace all that is in it by a copy of what is in ``source``, or by nothing."""
        self._clear()
        if source is not None:
            shutil.copytree(source, self.path, dirs_exist_ok=True)

    def pack(self) -> bytes:
        """Return all that is in it."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self.path, ".")
        return packed.getvalue()

    def unpack(self, packed: bytes) -> None:
        """Replace all that is in it by what ``pack`` returned."""
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
    if os.getpid() == process:  # a forked child leaves its parent's alone
        shutil.rmtree(path, ignore_errors=True)
