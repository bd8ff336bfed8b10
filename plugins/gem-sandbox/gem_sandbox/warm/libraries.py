"""Choose a program's zygote: the smallest one that has imported the program's libraries."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

__all__ = ["installed", "zygote_for"]

_IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+(.+)|from[ \t]+([\w.]+)[ \t]+import\b)", re.MULTILINE)
_WORD = re.compile(r"[\w.]+")
_ALIASES = {"np": "numpy", "pd": "pandas"}
_ALIAS = re.compile(r"\b(np|pd)\.")


@cache
def installed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the modules that are installed."""
    return tuple(name for name in names if find_spec(name.partition(".")[0]) is not None)


def zygote_for(source: str, preload: Sequence[str], *, supply_names: bool) -> int:
    """Return the index of a program's zygote: zygote ``n`` has the first ``n`` preloaded modules.

    Only lines that start with an import count. A module that is missed costs the program time: it
    is imported when the program runs.
    """
    used = _imports(source)
    if supply_names:
        used |= {_ALIASES[alias] for alias in _ALIAS.findall(source)}
    counts = [
        count for count, name in enumerate(preload, start=1) if name.partition(".")[0] in used
    ]
    return max(counts, default=0)


def _imports(source: str) -> set[str]:
    names: set[str] = set()
    for plain, package in _IMPORT.findall(source):
        parts = plain.split(",") if plain else [package]
        words = (_WORD.search(part) for part in parts)
        names |= {word.group().partition(".")[0] for word in words if word}
    return names
