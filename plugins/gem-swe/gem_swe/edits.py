"""Edits of the files of a repository, and differences as a patch."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gem_core.errors import ConfigError

__all__ = ["Edit", "applied", "patch_between"]


@dataclass(frozen=True, order=True)
class Edit:
    """Some bytes of a file that others take the place of.

    Args:
        path: The path of the file in the repository.
        start: Where the bytes begin, from 0.
        end: Where they end.
        text: What comes there instead.
    """

    path: str
    start: int
    end: int
    text: str


def applied(files: Mapping[str, bytes], edits: Iterable[Edit]) -> dict[str, bytes]:
    """Return files with edits, whose places are those of the files as they are given.

    Raises:
        ConfigError: An edit is outside of its file, or two overlap.
    """
    changed = dict(files)
    last: Edit | None = None
    for edit in sorted(edits, reverse=True):
        content = files.get(edit.path)
        if content is None or not 0 <= edit.start <= edit.end <= len(content):
            raise ConfigError(f"This edit is outside of its file: {edit}.")
        if last is not None and last.path == edit.path and last.start < edit.end:
            raise ConfigError(f"Edits overlap: {edit} and {last}.")
        before, after = changed[edit.path][: edit.start], changed[edit.path][edit.end :]
        changed[edit.path] = before + edit.text.encode() + after
        last = edit
    return changed


def patch_between(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return what has changed as a unified diff, as ``git apply`` reads it."""
    lines: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        lines.append(f"diff --git a/{path} b/{path}\n")
        if old is None:
            lines.append("new file mode 100644\n")
        if new is None:
            lines.append("deleted file mode 100644\n")
        lines += _unified(path, old, new)
    return "".join(lines)


def _unified(path: str, old: bytes | None, new: bytes | None) -> list[str]:
    try:
        before, after = (
            (content or b"").decode().splitlines(keepends=True) for content in (old, new)
        )
    except UnicodeDecodeError:
        return [f"Binary files a/{path} and b/{path} differ\n"]
    names = (
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    return [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, *names)
    ]
