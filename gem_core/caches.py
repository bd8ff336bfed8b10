"""Where files are kept that can be made or fetched again."""

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder(name: str) -> Path:
    """Return ``$XDG_CACHE_HOME/gem-core/NAME``, by default in ``~/.cache``; it may be missing.

    Args:
        name: What is kept in it, such as ``models``.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return base / "gem-core" / name
