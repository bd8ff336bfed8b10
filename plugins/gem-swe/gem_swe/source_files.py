"""What of an agent's work goes to the machine that grades: the source files, and nothing else."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from gem_workers.carried_files import CarriedFiles
from gem_workers.machine import FileChange

__all__ = ["SourceFiles", "is_source"]

_NOT_SOURCE = re.compile(
    r"(site|user)customize\.py|conftest\.py|setup\.py|noxfile\.py|test_.*\.py|.*_test\.py"
)
"""Files of Python that a runner of tests, or Python itself, would load on its own."""
_FOLDERS_OF_TESTS = {"test", "tests", "testing"}


def is_source(
    path: str, *, folders: Collection[str] = ("",), suffixes: Collection[str] = (".py",)
) -> bool:
    """Return whether a path is that of a source file: code that is neither a test nor set-up.

    Args:
        path: A path in a repository.
        folders: The folders that have source, each with a slash at the end; empty for all.
        suffixes: How the names of source files end.
    """
    pure = PurePosixPath(path)
    if pure.suffix not in suffixes or _NOT_SOURCE.fullmatch(pure.name):
        return False
    if _FOLDERS_OF_TESTS & set(pure.parts[:-1]) or any(part.startswith(".") for part in pure.parts):
        return False
    return any(path.startswith(folder) for folder in folders)


@dataclass
class SourceFiles(CarriedFiles):
    """Decides about each change of the files of an agent's machine, as ``CarriedFiles``.

    Args:
        is_source: Whether a path in the repository is one of its source files.
        given: The absolute paths of the files that the machine was started with, which are not
            listed among those that are left behind.
    """

    is_source: Callable[[str], bool] = is_source
    given: Collection[str] = ()

    def keeps(self, change: FileChange) -> bool:
        """Return whether a change goes to the fresh machine."""
        kept = self._is_carried(change)
        if not kept and change.kind != "folder" and change.path not in self.given:
            self.left.append(change.path)
        return kept

    def would_keep(self, path: str) -> bool:
        """Return whether a new file at a path would go to the fresh machine."""
        return self.is_source(self._inside(path))

    def _is_carried(self, change: FileChange) -> bool:
        inside = self._inside(change.path)
        if change.kind == "folder":
            return bool(inside) and self.is_source(f"{inside}/file.py")
        return change.kind in {"file", "deleted"} and self.is_source(inside)

    def _inside(self, path: str) -> str:
        """Return a path in the repository; empty for one outside of it."""
        start = f"{self.workdir.rstrip('/')}/"
        return path[len(start) :] if path.startswith(start) else ""
