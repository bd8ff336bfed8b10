"""The installed plugins, as installers wrote them down: the entry points of every distribution.

``importlib.metadata`` finds the same, but importing it and parsing the metadata of a hundred
distributions takes longer than all else that making an environment needs. It is used where
distributions may be elsewhere than in folders: in zip files, eggs, or with finders of their own.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import PathFinder
from typing import NamedTuple

__all__ = ["NAMESPACES", "Installed", "installed", "normalized"]

GROUP = "gem"
NAMESPACES = "gem.namespaces"

Read = Callable[[str], str | None]
"""Returns the text of a file of a distribution's metadata; None or "" if there is none."""


class Installed(NamedTuple):
    """A distribution that has plugins.

    Args:
        name: Its name and version, such as ``gem-games 0.1.0``.
        plugins: The names of its entry points of the group ``gem``, by what they name; of several
            that name the same, the first.
        namespaces: The names of its entry points of the group ``gem.namespaces``.
    """

    name: str
    plugins: dict[str, str]
    namespaces: frozenset[str]


def installed() -> list[Installed]:
    """Return the distributions that have plugins, sorted by name."""
    found: dict[str, Installed] = {}
    seen: set[str] = set()
    for name, read in _in_folders() if _are_all_in_folders() else _anywhere():
        if name in seen:  # the first one on the path is imported
            continue
        seen.add(name)
        groups = _groups(read("entry_points.txt") or "")
        if GROUP in groups:
            title = _title(read("METADATA") or read("PKG-INFO") or "")
            plugins = {value: entry for entry, value in reversed(groups[GROUP])}
            namespaces = frozenset(entry for entry, _ in groups.get(NAMESPACES, ()))
            found.setdefault(title, Installed(title, dict(sorted(plugins.items())), namespaces))
    return [found[title] for title in sorted(found)]


def _are_all_in_folders() -> bool:
    finders = [one for one in sys.meta_path if hasattr(one, "find_distributions")]
    return finders == [PathFinder] and not any(
        folder.endswith(".egg") or os.path.isfile(folder) for folder in _path()
    )


def _path() -> list[str]:
    return [one for one in sys.path if isinstance(one, str)]


def _in_folders() -> Iterator[tuple[str, Read]]:
    """Yield the normalized name of each distribution, and what reads its metadata."""
    for folder in _path():
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                name = entry.rpartition(".")[0].partition("-")[0]
                yield normalized(name), partial(_read, os.path.join(folder, entry))


def _anywhere() -> Iterator[tuple[str, Read]]:
    from importlib import metadata  # noqa: PLC0415 - see above

    for one in metadata.distributions():
        yield normalized(one.name or ""), one.read_text


def normalized(name: str) -> str:
    """Return the name of a distribution in the form in which installers compare names."""
    return name.lower().replace("-", "_").replace(".", "_")


def _read(folder: str, file: str) -> str:
    try:
        with open(os.path.join(folder, file), "rb", buffering=0) as opened:
            return opened.read().decode(errors="replace")
    except OSError:
        return ""


def _groups(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the entry points of a file, names and values, by their group."""
    groups: dict[str, list[tuple[str, str]]] = {}
    if f"[{GROUP}]" not in text:
        return groups
    entries: list[tuple[str, str]] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            entries = groups.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            entries.append((name.strip(), value.strip()))
    return groups


def _title(text: str) -> str:
    """Return name and version from the headers of a distribution's metadata."""
    headers = [line.partition(": ") for line in text.partition("\n\n")[0].splitlines()]
    fields = {name: value.strip() for name, _, value in reversed(headers)}
    return f"{fields.get('Name', 'unknown')} {fields.get('Version', '')}".strip()
