"""Patches, as git writes them, applied to files in memory."""

from collections.abc import Mapping

from dulwich.patch import apply_patch_hunks, parse_unified_diff

from gem_core.errors import ConfigError

__all__ = ["patched", "paths_of"]


def patched(files: Mapping[str, bytes], patch: str) -> dict[str, bytes]:
    """Return files with the changes of a patch.

    Args:
        files: Content by path.
        patch: A unified diff.

    Raises:
        ConfigError: It does not fit the files.
    """
    changed = dict(files)
    for one in parse_unified_diff(patch.encode()):
        old, new = _name(one.old_path), _name(one.new_path)
        lines = changed.get(old, b"").splitlines(keepends=True) if old else []
        made = apply_patch_hunks(one, lines)
        if made is None or (old and old not in files):
            raise ConfigError(f"The patch does not fit {old or new}.")
        if old and old != new:
            del changed[old]
        if new:
            changed[new] = b"".join(made)
    return changed


def paths_of(patch: str) -> tuple[str, ...]:
    """Return the paths that a patch changes, creates or removes."""
    found = parse_unified_diff(patch.encode())
    names = (name for one in found for name in (_name(one.old_path), _name(one.new_path)))
    return tuple(dict.fromkeys(filter(None, names)))


def _name(path: bytes | None) -> str:
    """Return a path without ``a/`` or ``b/``; empty for a file that is not there."""
    if path is None or path == b"/dev/null":
        return ""
    text = path.decode("utf-8", "surrogateescape")
    return text[2:] if text.startswith(("a/", "b/")) else text
