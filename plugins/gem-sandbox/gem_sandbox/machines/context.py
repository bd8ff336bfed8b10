"""The files beside a Dockerfile that it can copy: all but those that ``.dockerignore`` names."""

import contextlib
import functools
import hashlib
import os
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from gem_core.errors import ConfigError
from gem_workers.untrusted_files import has_file, read_bytes, read_text

__all__ = ["context_digest", "context_names"]

_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\[[^]]+\]|.")


def context_digest(folder: Path, names: Sequence[str] | None = None) -> str:
    """Return a hash of what a Dockerfile of a folder can copy.

    Args:
        folder: The folder.
        names: The names below it that are copied; None for all.

    Raises:
        ConfigError: A file cannot be read.
    """
    digest = hashlib.sha256()
    for name in context_names(folder) if names is None else names:
        path = folder / name
        digest.update(os.fsencode(f"{name}\0{path.lstat().st_mode}\0"))
        if path.is_symlink():
            digest.update(os.fsencode(f"{path.readlink()}\0"))
            with contextlib.suppress(ConfigError):  # it may point to nothing that can be copied
                digest.update(hashlib.sha256(read_bytes(folder, name)).digest())
        elif not path.is_dir():
            digest.update(hashlib.sha256(read_bytes(folder, name)).digest())
    return digest.hexdigest()


def context_names(folder: Path) -> list[str]:
    """Return the names below a folder that its ``.dockerignore`` does not exclude.

    Raises:
        ConfigError: The ``.dockerignore`` cannot be read.
    """
    name = ".dockerignore"
    lines = read_text(folder, name).splitlines() if has_file(folder, name) else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for pattern in patterns:
        try:
            _expression(_wanted(pattern))
        except re.error as error:
            raise ConfigError(f"{folder / name}: {pattern!r} is not a pattern: {error}.") from error
    names = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")))
    return [name for name in names if not _is_ignored(name, patterns)]


def _is_ignored(name: str, patterns: Sequence[str]) -> bool:
    above = [name, *(str(one) for one in Path(name).parents if str(one) != ".")]
    ignored = False
    for pattern in patterns:
        wanted = _expression(_wanted(pattern))
        if any(map(wanted.fullmatch, above)):
            ignored = not pattern.startswith("!")
    return ignored


def _wanted(pattern: str) -> str:
    return posixpath.normpath(pattern.removeprefix("!").strip().strip("/"))


@functools.cache
def _expression(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a ``.dockerignore``, in which only ``**`` goes beyond a folder."""
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = (
        special.get(part) or (part if part.startswith("[") and len(part) > 1 else re.escape(part))
        for part in _GLOB.findall(pattern)
    )
    return re.compile("".join(parts))
