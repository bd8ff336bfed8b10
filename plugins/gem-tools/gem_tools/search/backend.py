"""Search backends: each takes a query and returns documents, best first.

Ours and those of other plugins are registered as ``SEARCH_BACKENDS``. They are shared: all tools of
a process with the same backend and options use one index, one pool of connections and one cache.
Files are read and connections opened by the first search.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gem_core.errors import ConfigError, GemError
from gem_core.lifetimes import Lock
from gem_core.resolve import resolve
from gem_tools.specs import SEARCH_BACKENDS

__all__ = ["Document", "SearchBackend", "SearchError", "make_backend"]

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
        ConfigError: There is no ``id``, an option has a value that is not allowed, or the entry
            point of the id returns something else.
        UnknownIdError: There is no such backend.
        UnknownKwargError: An option that the backend does not have.
        NotInstalledError: What the backend needs is not installed; ours are in the extra
            ``gem-tools[search]``.
    """
    if isinstance(backend, SearchBackend):
        return backend
    spec = resolve(SEARCH_BACKENDS, backend)
    key = json.dumps({**spec.kwargs, "id": spec.id}, sort_keys=True, default=str)
    with _lock:
        if key not in _shared:
            made = spec.make()
            if not isinstance(made, SearchBackend):
                raise ConfigError(f"{spec.kind} {spec.id!r} must return a SearchBackend: {made!r}.")
            _shared[key] = made
        return _shared[key]
