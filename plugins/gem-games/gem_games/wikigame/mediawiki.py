"""The graph ``mw``: the pages of a MediaWiki such as Wikipedia, loaded through its API."""

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from gem_games.wikigame.errors import DisambiguationError, PageFault, PageNotFoundError
from gem_games.wikigame.graph import LazyGraph
from gem_games.wikigame.http import PageServer
from gem_games.wikigame.pages import Page, label_of, labels_of
from gem_games.wikigame.sources import OneGraph

__all__ = ["MediaWiki", "MediaWikiGraph"]

URL = "https://en.wikipedia.org/w/api.php"
_BATCHES = 100
"""Answers to one query that are joined."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class MediaWiki(OneGraph):
    """The pages of a MediaWiki.

    Its operator sees the requests, so mind its rules; the default waits between requests, asks for
    every page once, and says who asks.

    Args:
        data: The URL of its API; None for that of the English Wikipedia.
        delay_ms: Milliseconds between two requests.
        attempts: Attempts for each request.
        timeout: Seconds until an attempt is given up.
        kept: The number of pages that are kept in memory.
    """

    blocking: ClassVar[bool] = True

    def __init__(
        self,
        *,
        data: str | None = None,
        delay_ms: int = 25,
        attempts: int = 5,
        timeout: float = 5.0,
        kept: int = 4096,
    ) -> None:
        server = PageServer(data or URL, delay_ms=delay_ms, attempts=attempts, timeout=timeout)
        self._graph = MediaWikiGraph(server, kept)


class MediaWikiGraph(LazyGraph):
    """The pages of a MediaWiki; keys are their titles.

    Args:
        server: The server, with the URL of the API.
        kept: The number of pages that are kept.
    """

    def __init__(self, server: PageServer, kept: int = 4096) -> None:
        super().__init__(kept)
        self._server = server

    def fetch(self, key: str) -> Page:
        """Load a page and all its links; see ``LazyGraph.fetch``."""
        title, text, links, is_disambiguation = key, "", list[str](), False
        for answer in self._batches(
            {
                "prop": "links|extracts|pageprops",
                "titles": key,
                "redirects": "1",
                "plnamespace": "0",
                "pllimit": "max",
                "explaintext": "1",
                "exintro": "1",
                "ppprop": "disambiguation",
            }
        ):
            page = self._only_page(answer, key)
            title = page.get("title", title)
            text = page.get("extract") or text
            links += [link["title"] for link in page.get("links", ())]
            is_disambiguation |= "disambiguation" in page.get("pageprops", {})
        links = [link for link in dict.fromkeys(links) if link != title]
        if is_disambiguation:
            raise DisambiguationError(f"{title!r} has several meanings.", links)
        return Page(title, label_of(title), text, dict(zip(labels_of(links), links, strict=True)))

    def _only_page(self, answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        pages = answer.get("pages", ())
        if not pages or pages[0].get("missing") or pages[0].get("invalid"):
            raise PageNotFoundError(f"{self._server.url} has no page {key!r}.")
        page: Mapping[str, Any] = pages[0]
        return page

    def search(self, words: str) -> str | None:
        """Return the first hit of the full-text search."""
        parameters = {"list": "search", "srsearch": words, "srlimit": "1", "srnamespace": "0"}
        return next((hit["title"] for hit in self._query(parameters).get("search", ())), None)

    def random_key(self, rng: random.Random) -> str:
        """Return the first page from random letters on, so that a seed draws the same one again."""
        letters = "".join(_LETTERS[int(rng.random() * 26)] for _ in range(3)).capitalize()
        parameters = {
            "list": "allpages",
            "apfrom": letters,
            "apnamespace": "0",
            "apfilterredir": "nonredirects",
            "aplimit": "1",
        }
        for one in (parameters, {**parameters, "apfrom": ""}):  # after the last page, the first
            for page in self._query(one).get("allpages", ()):
                return str(page["title"])
        raise PageFault(f"{self._server.url} has no pages.")

    def _query(self, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the first part of the answer to a query."""
        return next(self._batches(parameters))

    def _batches(self, parameters: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the parts of the answer to a query, until it has no continuation."""
        asked = {"action": "query", "format": "json", "formatversion": "2", **parameters}
        continuation: Mapping[str, str] = {}
        for _ in range(_BATCHES):
            answer = self._answer({**asked, **continuation})
            yield answer.get("query", {})
            continuation = {key: str(value) for key, value in answer.get("continue", {}).items()}
            if not continuation:
                return

    def _answer(self, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        text = self._server.get(parameters=parameters).text
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise PageFault(f"{self._server.url} is not an API: it sent {text[:80]!r}.") from error
        if not isinstance(answer, dict) or "error" in answer:
            raise PageFault(f"{self._server.url} refused the query: {str(answer)[:300]}")
        return answer
