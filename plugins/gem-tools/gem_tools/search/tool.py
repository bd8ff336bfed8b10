"""The search tool: searches for the text between ``<search>`` and ``</search>``."""

import functools
import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gem_core.errors import ConfigError
from gem_core.observation import Action
from gem_core.tool import BaseTool, Function, ToolCall, ToolResult
from gem_tools.search.backend import Document, SearchBackend, SearchError, make_backend

__all__ = ["SearchTool"]

logger = logging.getLogger("gem_tools")

_TAG, _BROKEN = re.compile(r"<(?=\s*+(?:/\s*+)?information\b)", re.IGNORECASE), r"<\\"
"""A document must not end the result, or begin another one."""
OPEN, CLOSE = "<search>", "</search>"
URL_VARIABLE = "SEARCH_URL"
MOST = 100
"""Maximum number of documents for a search."""

INSTRUCTIONS = """\
You may search while you work on the task. Think between <think> and </think> first, every time \
you learn something new. When you find that you do not know something, write a query between \
<search> and </search> and stop there. The documents that fit it best come back between \
<information> and </information>, and you go on from what they say. Search as often as you need. \
When you know enough, give the final answer between <answer> and </answer>, without a search in \
the same message."""

DESCRIPTION = "Search for documents. Returns those that fit the query best, each with its title."
NOTHING = "No document fits this query."


class SearchTool(BaseTool):
    """Searches, and shows the best documents, each as ``Doc 1(Title: ...) ...``.

    A search that fails is a failed call with the output ``[SearchTool Error: ...]``.

    Args:
        search_url: URL of a retrieval server, for the backend ``http``.
        topk: Number of documents, unless a call asks for another; 1 to 100.
        timeout: Seconds for a search that asks a server.
        backend: The backend: an id (``bm25``, ``http``, ``serp``, ``google``, one of a plugin, or
            ``module:NAME``), a mapping with an ``id`` and the backend's options, or a
            ``SearchBackend``. None: ``http`` if
            there is a ``search_url`` or an environment variable ``SEARCH_URL``, else ``bm25``
            with the small corpus that comes with this package.
        wrapped: Put the result between ``<information>`` tags, as the instructions promise.

    Raises:
        ConfigError: An option is out of range, or ``http`` has no URL.
        UnknownIdError: There is no such backend.
        NotInstalledError: The extra ``gem-tools[search]`` is not installed.
    """

    name = "search"
    shared: ClassVar[tuple[str, ...]] = ("backend", "blocking", "timeout", "topk", "wrapped")

    def __init__(
        self,
        *,
        search_url: str | None = None,
        topk: int = 3,
        timeout: float = 5.0,
        backend: str | Mapping[str, Any] | SearchBackend | None = None,
        wrapped: bool = True,
    ) -> None:
        if problem := _problem_of_topk(topk):
            raise ConfigError(problem)
        if not timeout > 0:
            raise ConfigError(f"timeout must be more than 0; got {timeout!r}.")
        self.topk = topk
        self.timeout = timeout
        self.wrapped = wrapped
        self.backend = make_backend(_with_url(backend, search_url))
        self.blocking = self.backend.waits

    def instructions(self) -> str:
        return INSTRUCTIONS

    def functions(self) -> Sequence[Function]:
        query = {"type": "string", "description": "What to search for."}
        topk = {
            "type": "integer",
            "description": f"How many documents to return; {self.topk} if left out.",
            "minimum": 1,
            "maximum": MOST,
        }
        properties = {"query": query, "topk": topk}
        parameters = {"type": "object", "properties": properties, "required": ["query"]}
        return (Function(self.name, DESCRIPTION, parameters),)

    def parse(self, action: Action) -> ToolCall | None:
        if not isinstance(action, str):
            return None
        start = action.find(OPEN)
        end = action.find(CLOSE, start)
        if start < 0 or end < 0:
            return None
        query = action[start + len(OPEN) : end].strip()
        return ToolCall(self.name, {"query": query}, action[: end + len(CLOSE)])

    def run(self, call: ToolCall) -> ToolResult:
        try:
            query, topk = self._asked(call)
            found = self.backend.search(query, topk=topk, seconds=self.timeout)
        except SearchError as error:
            return self._failed(error)
        return self._found(found)

    async def arun(self, call: ToolCall) -> ToolResult:
        """``run`` for asynchronous environments."""
        try:
            query, topk = self._asked(call)
            found = await self.backend.asearch(query, topk=topk, seconds=self.timeout)
        except SearchError as error:
            return self._failed(error)
        return self._found(found)

    def _asked(self, call: ToolCall) -> tuple[str, int]:
        query, topk = call.arguments.get("query"), call.arguments.get("topk")
        if not isinstance(query, str) or not query.strip():
            raise SearchError("the query is empty; pass a text to search for.")
        if topk is None:
            topk = self.topk
        elif problem := _problem_of_topk(topk):
            raise SearchError(problem)
        # JSON may contain half a surrogate pair, which cannot be encoded.
        return query.strip().encode("utf-8", "replace").decode(), topk

    def _found(self, found: Sequence[Document]) -> ToolResult:
        lines = [
            f"Doc {number}(Title: {document.title}) {document.text}\n"
            for number, document in enumerate(found, start=1)
        ]
        scores = [document.score for document in found]
        return ToolResult(self._shown("".join(lines) or NOTHING), info={"scores": scores})

    def _failed(self, error: SearchError) -> ToolResult:
        return ToolResult(self._shown(f"[SearchTool Error: {error}]"), ok=False)

    def _shown(self, text: str) -> str:
        if not self.wrapped:
            return text
        return f"\n\n<information>{_TAG.sub(_BROKEN, text)}</information>\n\n"


@functools.cache  # warn only once
def _sample() -> str:
    logger.warning(
        "The search tool has neither a search_url nor $%s: it searches the small corpus that comes "
        "with gem-tools. Set backend='bm25' if that is what you want.",
        URL_VARIABLE,
    )
    return "bm25"


def _problem_of_topk(topk: Any) -> str:
    if isinstance(topk, int) and not isinstance(topk, bool) and 1 <= topk <= MOST:
        return ""
    return f"topk must be a whole number from 1 to {MOST}; got {topk!r}."


def _with_url(
    backend: str | Mapping[str, Any] | SearchBackend | None, search_url: str | None
) -> str | Mapping[str, Any] | SearchBackend:
    """Return the backend, with the URL if it needs one."""
    url = search_url or os.environ.get(URL_VARIABLE)
    if backend is None:
        backend = "http" if url else _sample()
    options = {"id": backend} if isinstance(backend, str) else backend
    if not isinstance(options, Mapping) or options.get("id") != "http" or "url" in options:
        if search_url:
            raise ConfigError(f"search_url goes with backend='http'; got backend={backend!r}.")
        return backend
    if not url:
        raise ConfigError(
            f"backend='http' needs the URL of a retrieval server, for example "
            f"search_url='http://localhost:8000/retrieve', or ${URL_VARIABLE}."
        )
    return {**options, "url": url}
