"""Version of the library and of Python, and the ids of the games."""

import importlib.metadata
import platform

from compare.sides import load_side

__all__ = ["measure"]


def measure(side: str) -> dict[str, object]:
    """Return ``version``, ``python`` and ``ids``."""
    return {
        "version": importlib.metadata.version(side.replace("_", "-")),
        "python": platform.python_version(),
        "ids": load_side(side).ids(),
    }
