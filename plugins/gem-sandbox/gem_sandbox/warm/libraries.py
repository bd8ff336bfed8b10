"""Which zygote a program gets: the least one that has imported the libraries that it imports."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

__all__ = ["group_of", "installed"]

_IMPORT = re.compile(r"^[ \t]*(?:import[ \t]+(.+)|from[ \t]+([\w.]+)[ \t]+import\b)", re.MULTILINE)
_WORD = re.compile(r"[\w.]+")
_ALIASES = {"np": "numpy", "pd": "pandas"}
_ALIAS = re.compile(r"\b(np|pd)\.")


@cache
def installed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the modules that are there to be imported."""
    return tuple(name for name in names if find_spec(name.partition(".")[0]) is not None)


def group_of(source: str, preload: Sequence[str], *, supply_names: bool) -> int:
    """Return how many of the preloaded modules a program wants, up to the last one it names.

    Only lines that begin as an import count: what is missed is imported by the program itself.
    """
    wanted = _imports(source)
    if supply_names:
        wanted |= {_ALIASES[alias] for alias in _ALIAS.findall(source)}
    counts = [
        count for count, name in enumerate(preload, start=1) if name.partition(".")[0] in wanted
    ]
    return max(counts, default=0)


def _imports(source: str) -> set[str]:
    names: set[str] = set()
    for plain, package in _IMPORT.findall(source):
        parts = plain.split(",") if plain else [package]
        words = (_WORD.search(part) for part in parts)
        names |= {word.group().partition(".")[0] for word in words if word}
    return names
