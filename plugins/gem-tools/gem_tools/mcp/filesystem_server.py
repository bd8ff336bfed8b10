"""An MCP server for the files of one folder.

``python -m gem_tools.mcp.filesystem_server FOLDER --transport stdio``. Paths are relative to the
folder; paths outside it, also through links, are refused.
"""

import difflib
import fnmatch
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import click
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from gem_tools.mcp.serving import serve, serving_options

__all__ = ["Folder", "filesystem_server", "main"]

_MOST_ENTRIES = 1000
"""Maximum number of entries in a listing."""

PathName = Annotated[str, Field(description="Path relative to the folder, such as notes/a.txt")]


class Folder:
    """The tools, each a method.

    Args:
        root: The folder.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).resolve(strict=True)

    def read_file(self, path: PathName) -> str:
        """Read a text file."""
        try:
            return self._file(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ToolError(f"{path!r} is not text in UTF-8.") from None

    def read_image(self, path: PathName) -> Image:
        """Show an image file."""
        return Image(path=self._file(path))

    def write_file(self, path: PathName, content: str) -> str:
        """Write a text file, new or existing. Its folder must exist."""
        place = self._resolved(path)
        if place.is_dir():
            raise ToolError(f"{path!r} is a folder.")
        if not place.parent.is_dir():
            raise ToolError(f"There is no folder {self._name(place.parent)!r}. Create it first.")
        place.write_text(content, encoding="utf-8")
        return f"Wrote {len(content):,} characters to {self._name(place)!r}."

    def edit_file(self, path: PathName, old: str, new: str) -> str:
        """Replace a piece of a text file, which must occur in it exactly once."""
        before = self.read_file(path)
        count = before.count(old) if old else 0
        if count != 1:
            raise ToolError(f"The text to replace occurs {count} times in {path!r}, not once.")
        after = before.replace(old, new)
        self._resolved(path).write_text(after, encoding="utf-8")
        lines = (before.splitlines(), after.splitlines())
        return "\n".join(difflib.unified_diff(*lines, path, path, lineterm="", n=1))

    def list_directory(self, path: PathName = ".") -> str:
        """List a folder, one entry a line; folders end with a slash."""
        place = self._existing(path)
        if not place.is_dir():
            raise ToolError(f"{path!r} is not a folder.")
        names = sorted(child.name + "/" * child.is_dir() for child in place.iterdir())
        return _lines(names) or "The folder is empty."

    def directory_tree(self, path: PathName = ".") -> str:
        """List a folder and all folders in it, one path a line."""
        return _lines([self._name(place) + "/" * place.is_dir() for place in self._walk(path)])

    def search_files(
        self,
        pattern: Annotated[str, Field(description="Pattern of the name, such as *.txt")],
        path: PathName = ".",
    ) -> str:
        """Find files by name in a folder and all folders in it, one path a line."""
        found = [p for p in self._walk(path) if p.is_file() and fnmatch.fnmatch(p.name, pattern)]
        return _lines([self._name(place) for place in found]) or "No file name matches the pattern."

    def search_text(self, text: str, path: PathName = ".") -> str:
        """Find a text in all files under a folder: path, line number, line."""
        found = [
            f"{self._name(place)}:{number}: {line}"
            for place in self._walk(path)
            if place.is_file()
            for number, line in enumerate(_text_lines(place), 1)
            if text in line
        ]
        return _lines(found) or "The text does not occur."

    def create_directory(self, path: PathName) -> str:
        """Create a folder and its parents, if they do not exist."""
        place = self._resolved(path)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ToolError(
                f"The folder {path!r} cannot be created: a file has that name."
            ) from None
        return f"The folder {self._name(place)!r} exists."

    def move_file(self, source: PathName, destination: PathName) -> str:
        """Move or rename a file or folder; there must be nothing at the destination."""
        start, end = self._existing(source), self._resolved(destination)
        if start == self.root:
            raise ToolError("The root folder cannot be moved.")
        if end.exists():
            raise ToolError(f"{destination!r} already exists.")
        if not end.parent.is_dir() or end.is_relative_to(start):
            raise ToolError(f"There is no folder {self._name(end.parent)!r} to move it to.")
        shutil.move(start, end)
        return f"Moved {source!r} to {destination!r}."

    def copy_file(self, source: PathName, destination: PathName) -> str:
        """Copy a file; there must be nothing at the destination."""
        start, end = self._file(source), self._resolved(destination)
        if end.exists():
            raise ToolError(f"{destination!r} already exists.")
        if not end.parent.is_dir():
            raise ToolError(f"There is no folder {self._name(end.parent)!r}. Create it first.")
        shutil.copy2(start, end)
        return f"Copied {source!r} to {destination!r}."

    def delete_file(self, path: PathName) -> str:
        """Delete a file, or a folder that is empty."""
        place = self._existing(path)
        if place.is_dir():
            if place == self.root or any(place.iterdir()):
                raise ToolError(f"The folder {path!r} is not empty.")
            place.rmdir()
        else:
            place.unlink()
        return f"Deleted {path!r}."

    def get_file_info(self, path: PathName) -> dict[str, Any]:
        """Return kind and size (bytes) of a file, and its lines; or the entries of a folder."""
        place = self._existing(path)
        if place.is_dir():
            return {"kind": "folder", "entries": len(list(place.iterdir()))}
        size = place.stat().st_size
        return {"kind": "file", "size": size, "lines": len(_text_lines(place))}

    def _resolved(self, path: str) -> Path:
        """Return the absolute path, which must be inside the folder."""
        try:
            place = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ToolError(f"{path[:200]!r} is not a path.") from None
        if not place.is_relative_to(self.root):
            raise ToolError(f"{path!r} is outside the folder. Paths are relative to it.")
        return place

    def _existing(self, path: str) -> Path:
        place = self._resolved(path)
        if not place.exists():
            raise ToolError(f"There is no {path!r}.")
        return place

    def _file(self, path: str) -> Path:
        place = self._existing(path)
        if not place.is_file():
            raise ToolError(f"{path!r} is not a file.")
        return place

    def _walk(self, path: str) -> Iterator[Path]:
        """Yield all paths under a folder, sorted by name; links are not followed."""
        for folder, names, files in os.walk(self._existing(path)):
            names.sort()
            yield from sorted(Path(folder) / name for name in [*names, *files])

    def _name(self, place: Path) -> str:
        return place.relative_to(self.root).as_posix()


def _text_lines(place: Path) -> list[str]:
    try:
        return place.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _lines(entries: list[str]) -> str:
    shown = entries[:_MOST_ENTRIES]
    if len(entries) > len(shown):
        shown.append(f"... and {len(entries) - len(shown):,} more")
    return "\n".join(shown)


_READING = "read_file", "read_image", "list_directory", "directory_tree", "get_file_info"
_SEARCHING = "search_files", "search_text"
_WRITING = "write_file", "edit_file", "create_directory", "move_file", "copy_file", "delete_file"


def filesystem_server(root: str | os.PathLike[str]) -> MCPServer[Any]:
    """Return a server for a folder.

    Args:
        root: The folder.

    Raises:
        FileNotFoundError: It does not exist.
    """
    server: MCPServer[Any] = MCPServer("filesystem")
    folder = Folder(root)
    for name in (*_READING, *_SEARCHING, *_WRITING):
        method: Callable[..., Any] = getattr(folder, name)
        notes = ToolAnnotations(read_only_hint=name not in _WRITING)
        server.add_tool(method, annotations=notes, structured_output=False)
    return server


@click.command()
@click.argument("root", type=click.Path(exists=True, file_okay=False))
@serving_options("/mcp")
def main(root: str, **options: Any) -> None:
    """Serve the files of the folder ROOT."""
    serve(filesystem_server(root), **options)


if __name__ == "__main__":
    main()
