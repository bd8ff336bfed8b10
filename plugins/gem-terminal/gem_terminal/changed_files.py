"""What an agent has done to the files of its machine: new, changed and deleted."""

from dataclasses import dataclass, field
from typing import Any

from gem_core.errors import MachineError
from gem_workers.carried_files import is_reserved
from gem_workers.machine import FileChange, Machine

__all__ = ["ChangedFiles"]

_LISTED = 100
"""The number of paths of each kind in ``info``."""


@dataclass
class ChangedFiles:
    """The changes since a machine was started; ``add`` notes them.

    Args:
        workdir: The folder that was made for the machine.
        given: The files that the machine was started with, and whether they are as they were.
        new: Paths that there were not; folders have a slash at the end.
        changed: Paths that there were.
        deleted: Paths that are not there any more.
    """

    workdir: str
    given: dict[str, bool]
    new: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    @classmethod
    def on(cls, machine: Machine) -> "ChangedFiles":
        """Return an object for the changes on a machine, before it is asked for them."""
        files = machine.spec.files
        given = {path: _is_same(machine, path, content) for path, content in files.items()}
        return cls(machine.spec.workdir, given, deleted=set(files))

    def add(self, change: FileChange) -> None:
        """Note a change; those in folders of grading, and of folders of the image, do not count."""
        path, kind = change.path, change.kind
        self.deleted.discard(path)
        if is_reserved(path) or path == self.workdir or (kind == "folder" and change.in_image):
            return
        if kind == "deleted":
            self.deleted.add(path)
        elif change.in_image or path in self.given:
            self.changed.add(path)
        else:
            self.new.add(f"{path}/" if kind == "folder" else path)

    def to_info(self) -> dict[str, Any]:
        """Return the paths by kind, in order, without new folders that are not empty.

        At most a hundred paths of a kind are listed; ``left_out`` says how many more there are.
        """
        every = {*self.new, *self.given, *self.changed}
        parents = {f"{path.rstrip('/').rpartition('/')[0]}/" for path in every}
        same = {path for path, is_same in self.given.items() if is_same}
        kinds = {
            "new": sorted(self.new - parents),
            "changed": sorted(self.changed - same),
            "deleted": sorted(self.deleted),
        }
        left_out = sum(len(paths[_LISTED:]) for paths in kinds.values())
        info: dict[str, Any] = {kind: paths[:_LISTED] for kind, paths in kinds.items()}
        return {**info, "left_out": left_out} if left_out else info


def _is_same(machine: Machine, path: str, content: bytes) -> bool:
    try:
        return machine.read(path, limit=len(content)) == content
    except MachineError:
        return False
