"""Searches the web with Google's Programmable Search Engine (Custom Search JSON API)."""

import asyncio
import os
import string
from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.errors import ConfigError
from gem_core.secret import Secret
from gem_tools.search.backend import Document, SearchError
from gem_tools.search.pages import matching_paragraphs
from gem_tools.search.remote import RemoteBackend
from gem_tools.search.serp import NO_SNIPPET, NO_TITLE, as_json

__all__ = ["GoogleBackend"]

_MOST = 10
"""Maximum number of results in one answer of the service."""
_WORDS = 5
_NO_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))
_NO_PAGES = (".pdf", ".doc", ".docx", ".ppt", ".pptx", ".xls", ".xlsx", ".zip")


class GoogleBackend(RemoteBackend):
    """Asks Google, and reads the pages that the snippets are from.

    The text of a document is the paragraphs of the page that contain a piece of the snippet, or the
    snippet itself if there are none or the page cannot be read within ``page_timeout``.

    Args:
        url: URL of the service.
        api_key: The key; None for ``$GOOGLE_API_KEY``.
        cse_id: Id of the search engine; None for ``$GOOGLE_CSE_ID``.
        snippet_only: Return the snippets without fetching pages.
        page_timeout: Seconds for the pages of a search, which are fetched at the same time.
        concurrency: See ``RemoteBackend``.
        retries: See ``RemoteBackend``.
        cache_size: See ``RemoteBackend``.

    Raises:
        ConfigError: An option is out of range, or the key or the engine is missing.
    """

    def __init__(
        self,
        *,
        url: str = "https://www.googleapis.com/customsearch/v1",
        api_key: Secret | None = None,
        cse_id: str | None = None,
        snippet_only: bool = False,
        page_timeout: float = 2.0,
        concurrency: int = 8,
        retries: int = 2,
        cache_size: int = 4096,
    ) -> None:
        super().__init__(concurrency=concurrency, retries=retries, cache_size=cache_size)
        self.url = url
        self.snippet_only = snippet_only
        self.page_timeout = page_timeout
        self._key = api_key or os.environ.get("GOOGLE_API_KEY")
        self._engine = cse_id or os.environ.get("GOOGLE_CSE_ID")
        if not self._key or not self._engine:
            raise ConfigError(
                "The backend 'google' needs an api_key and a cse_id, or $GOOGLE_API_KEY and "
                "$GOOGLE_CSE_ID."
            )

    async def fetch(self, query: str, topk: int) -> Sequence[Document]:
        plain = " ".join(query.translate(_NO_PUNCTUATION).split())
        params = {"key": self._key, "cx": self._engine, "q": plain, "num": min(topk, _MOST)}
        found = as_json(await self.request("GET", self.url, params=params)).get("items", [])
        items = [item for item in found if isinstance(item, dict)]
        texts = await asyncio.gather(*(self._text(item) for item in items))
        return [
            Document(f'"{item.get("title") or NO_TITLE}"\n{text}')
            for item, text in zip(items, texts, strict=True)
        ]

    async def _text(self, item: Mapping[str, Any]) -> str:
        snippet = str(item.get("snippet") or NO_SNIPPET)
        pieces = [piece.strip() for piece in snippet.replace("…", "...").split("...")]
        pieces = [piece for piece in pieces if len(piece.split()) > _WORDS]
        link = str(item.get("link", ""))
        is_page = link.startswith("http") and not link.lower().endswith(_NO_PAGES)
        if self.snippet_only or not pieces or not is_page:
            return snippet
        return await self._paragraphs(link, pieces) or snippet

    async def _paragraphs(self, link: str, pieces: Sequence[str]) -> str:
        try:
            async with asyncio.timeout(self.page_timeout):
                answer = await self.request("GET", link)
        except (SearchError, TimeoutError):
            return ""  # the snippet is used
        if "html" not in answer.content_type:
            return ""
        return "\n".join(matching_paragraphs(answer.body, pieces))
