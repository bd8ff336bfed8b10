"""The sources of graphs: the table of graphs by name, opened once in a process.

A source has one graph, or several of which an episode chooses one.
"""

import functools
import importlib
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from gem_core.errors import ConfigError, near_names
from gem_core.specs import check_kwargs
from gem_games.wikigame.graph import Graph

__all__ = ["GRAPHS", "OneGraph", "Source", "one_of", "open_source"]

GRAPHS: Mapping[str, str] = {
    "world": "world:Worlds",
    "wordnet": "wordnet:WordNet",
    "folder": "folder:Folder",
    "zim": "zim:Zim",
    "kiwix": "kiwix:Kiwix",
    "mw": "mediawiki:MediaWiki",
}
"""The sources by name, each a module of this package and a class with ``data`` and its options."""
_OPEN = 32
"""Sources that a process keeps open."""


class Source(Protocol):
    """Graphs, of which each episode chooses one."""

    blocking: bool
    """Whether pages come from a network."""

    def choose(self, rng: random.Random) -> int:
        """Return the number of a random graph."""

    def graph(self, number: int) -> Graph:
        """Return a graph."""


class OneGraph:
    """A source with a single graph."""

    blocking: ClassVar[bool] = False
    _graph: Graph

    def choose(self, rng: random.Random) -> int:
        """Return 0; nothing is drawn."""
        return 0

    def graph(self, number: int) -> Graph:
        """Return the graph."""
        return self._graph


def open_source(name: str, data: str | Path | None, options: Mapping[str, Any]) -> Source:
    """Return the graphs of a name, the same object for the same arguments.

    Args:
        name: A name in ``GRAPHS``.
        data: The folder, file or URL; None for its default.
        options: Options of the source's class.

    Raises:
        ConfigError: The name is unknown, data are missing or superfluous, or an option is wrong.
        DataError: The data cannot be read.
        UnknownKwargError: The source has no such option.
    """
    one_of("graph", name, GRAPHS)
    cls = _source_class(name)
    check_kwargs(cls, {**options, "data": data}, f"graph_options of the graph {name!r}")
    try:
        written = json.dumps(dict(options), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"graph_options are numbers, texts and lists: {error}.") from error
    return _opened(name, None if data is None else str(data), written)


@functools.lru_cache(maxsize=_OPEN)
def _opened(name: str, data: str | None, options: str) -> Source:
    source: Source = _source_class(name)(data=data, **json.loads(options))
    return source


def _source_class(name: str) -> Any:
    module, _, cls = GRAPHS[name].partition(":")
    return getattr(importlib.import_module(f"gem_games.wikigame.{module}"), cls)


def one_of(what: str, name: str, names: Iterable[str]) -> str:
    """Return a name.

    Raises:
        ConfigError: It is not one of the names.
    """
    known = list(names)
    if name not in known:
        hint = near_names(name, known) if isinstance(name, str) else ""
        raise ConfigError(f"{what} must be one of {', '.join(known)}; got {name!r}.{hint}")
    return name
