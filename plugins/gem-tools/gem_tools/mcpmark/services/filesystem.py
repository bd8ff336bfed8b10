"""Tasks in a folder of files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from gem_core.errors import DataError
from gem_tools.mcpmark.services.service import Service
from gem_tools.mcpmark.workspace import Workspace

__all__ = ["FilesystemService"]


class FilesystemService(Service):
    """A temporary folder: ``{root}`` of servers, ``FILESYSTEM_TEST_DIR`` of programs.

    The initial state of a task is the folder of its category. The program verifies the folder
    itself.
    """

    name = "filesystem"
    servers: ClassVar[Mapping[str, Any]] = {
        "filesystem": {
            "server": "gem_tools.mcp.filesystem_server:filesystem_server",
            "arguments": {"root": "{root}"},
        }
    }
    """The file server of this package; it runs in this process, so episodes start no processes."""
    watched = ("FILESYSTEM_TEST_DIR",)

    def __init__(self, environments: Path | None) -> None:
        super().__init__(environments)
        self._workspace = Workspace()

    @property
    def folder(self) -> Path:
        return self._workspace.path

    @property
    def places(self) -> Mapping[str, str]:
        return {"root": str(self.folder)}

    @property
    def variables(self) -> Mapping[str, str]:
        return {"FILESYSTEM_TEST_DIR": str(self.folder)}

    def state_of(self, row: Mapping[str, Any]) -> Path | None:
        if self.environments is None:
            return None
        source = self.environments / str(row["category"])
        if not source.is_dir():
            raise DataError(
                f"The task {row['name']!r} starts from {str(source)!r}, which is missing."
            )
        return source

    def set_up(self, row: Mapping[str, Any]) -> None:
        self._workspace.fill(self.state_of(row))

    def pack(self) -> bytes:
        return self._workspace.pack()

    def unpack(self, packed: bytes) -> None:
        self._workspace.unpack(packed)

    def close(self) -> None:
        self._workspace.close()
