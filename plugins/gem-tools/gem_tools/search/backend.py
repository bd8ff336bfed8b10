"""Search backends: each takes a query and returns documents, best first.

Backends are shared: all tools of a process with the same backend and options use one index, one
pool of connections and one cache. Files are read and connections opened by the first search.
"""

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gem_core.errors import ConfigError, GemError, UnknownIdError, near_names
from gem_core.extras import require
from gem_core.lifetimes import Lock
from gem_core.specs import check_kwargs

__all__ = ["BACKENDS", "Document", "SearchBackend", "SearchError", "make_backend"]

BACKENDS = {
    "bm25": "gem_tools.search.local:Bm25Backend",
    "google": "gem_tools.search.google:GoogleBackend",
    "http": "gem_tools.search.http:HttpBackend",
    "serp": "gem_tools.search.serp:SerpBackend",
}
"""Entry points of the backends by id."""

_shared: dict[str, "SearchBackend"] = {}
_lock = Lock()


class SearchError(GemError, ConnectionError):
    """A search failed: no connection, no answer in time, or an unreadable answer."""


class Document(NamedTuple):
    """A document that was found.

    Args:
        contents: A line with the title, then the text.
        score: Higher is better; None if unknown.
    """

    contents: str
    score: float | None = None

    @property
    def title(self) -> str:
        """The first line."""
        return self.contents.partition("\n")[0]

    @property
    def text(self) -> str:
        """All other lines."""
        return self.contents.partition("\n")[2]


@runtime_checkable
class SearchBackend(Protocol):
    """The interface of backends; any number of threads and event loops may use one."""

    waits: bool
    """Whether a search waits for a network, instead of computing."""

    def search(self, query: str, *, topk: int, seconds: float) -> Sequence[Document]:
        """Return at most ``topk`` documents, best first.

        Args:
            query: The query.
            topk: Maximum number of documents, at least 1.
            seconds: Timeout, without the wait for a free connection.

        Raises:
            SearchError: The search failed.
        """

    async def asearch(self, query: str, *, topk: int, seconds: float) -> Sequence[Document]:
        """``search`` without blocking the event loop."""


def make_backend(backend: str | Mapping[str, Any] | SearchBackend) -> SearchBackend:
    """Return the shared backend of an id, or of a mapping with an ``id`` and options.

    Raises:
        ConfigError: There is no ``id``, or an option has a value that is not allowed.
        UnknownIdError: There is no such backend.
        UnknownKwargError: An option that the backend does not have.
        NotInstalledError: The extra ``gem-tools[search]`` is not installed.
    """
    if isinstance(backend, SearchBackend):
        return backend
    if not isinstance(backend, str | Mapping):
        raise ConfigError(f"A backend is an id, a mapping or a SearchBackend; got {backend!r}.")
    options = {"id": backend} if isinstance(backend, str) else dict(backend)
    key = json.dumps(options, sort_keys=True, default=str)
    with _lock:
        if key not in _shared:
            _shared[key] = _make(**options)
        return _shared[key]


def _make(id: str = "", **options: Any) -> SearchBackend:  # noqa: A002 - what users write
    if not id:
        raise ConfigError(f"A backend needs an id: one of {', '.join(BACKENDS)}; got {options!r}.")
    if id not in BACKENDS:
        near = near_names(id, BACKENDS)
        raise UnknownIdError(f"No search backend {id!r}.{near} There are: {', '.join(BACKENDS)}.")
    require("gem-tools[search]", f"The search backend {id!r}")
    module, _, name = BACKENDS[id].partition(":")
    target = getattr(importlib.import_module(module), name)
    check_kwargs(target, options, f"search backend {id!r}")
    made: SearchBackend = target(**options)
    return made
