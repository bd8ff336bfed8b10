"""The graph ``kiwix``: the pages of a server of kiwix, loaded on demand."""

import random
from typing import ClassVar
from urllib.parse import quote, unquote, urljoin, urlsplit

from gem_games.wikigame.errors import PageFault, PageNotFoundError
from gem_games.wikigame.graph import LazyGraph
from gem_games.wikigame.html import Document, read_page
from gem_games.wikigame.http import PageServer
from gem_games.wikigame.pages import Page
from gem_games.wikigame.sources import OneGraph
from gem_games.words import words

__all__ = ["Kiwix", "KiwixGraph"]

URL = "http://localhost:8080"
ZIMFILE = "wikipedia_en_simple_all_nopic_2025-09"
_FORWARDS = 5
"""Pages that may forward to one another."""


class Kiwix(OneGraph):
    """The pages of a server of kiwix.

    Args:
        data: Its URL; None for ``http://localhost:8080``.
        zimfile: The name of the file that it serves.
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
        zimfile: str = ZIMFILE,
        delay_ms: int = 25,
        attempts: int = 5,
        timeout: float = 5.0,
        kept: int = 4096,
    ) -> None:
        server = PageServer(data or URL, delay_ms=delay_ms, attempts=attempts, timeout=timeout)
        self._graph = KiwixGraph(server, zimfile, kept)


class KiwixGraph(LazyGraph):
    """The pages of a ZIM file that a server of kiwix has; keys are their paths.

    Args:
        server: The server.
        zimfile: The name of the file.
        kept: The number of pages that are kept.
    """

    def __init__(self, server: PageServer, zimfile: str, kept: int = 4096) -> None:
        super().__init__(kept)
        self._server = server
        self._zimfile = zimfile

    def fetch(self, key: str) -> Page:
        """Load a page; see ``LazyGraph.fetch``."""
        path = key.replace(" ", "_")
        for _ in range(_FORWARDS):
            answer = self._server.get(f"/raw/{quote(self._zimfile)}/content/{quote(path)}")
            path = self._path(answer.url) or path
            document = Document(answer.text)
            if document.refresh is None:
                return read_page(document, path)
            address = urljoin(f"http://zim/{quote(path)}", document.refresh)
            path = self._path(address) or unquote(urlsplit(address).path.lstrip("/"))
        raise PageFault(f"{key!r} is forwarded more than {_FORWARDS} times.")

    def search(self, words: str) -> str | None:
        """Return the first hit of the full-text search."""
        hits = self._hits(words.replace("_", " "))
        return hits[0] if hits else None

    def random_key(self, rng: random.Random) -> str:
        """Return a hit for a common word, so that a seed draws the same page again.

        Where the search finds nothing, the server draws the page, and the seed has no effect.
        """
        vocabulary = words()
        for _ in range(3):
            hits = self._hits(vocabulary[int(rng.random() * len(vocabulary))].lower())
            if hits:
                return hits[int(rng.random() * len(hits))]
        path = self._path(self._server.get("/random", {"content": self._zimfile}).url)
        if path is None:
            raise PageFault(f"{self._server.url}/random led to no page of {self._zimfile!r}.")
        return path

    def _hits(self, pattern: str) -> list[str]:
        try:
            answer = self._server.get("/search", {"pattern": pattern, "content": self._zimfile})
        except PageNotFoundError:  # the file has no index
            return []
        addresses = [urljoin(answer.url, href) for href in Document(answer.text).hrefs]
        paths = dict.fromkeys(map(self._path, addresses))
        return [path for path in paths if path]

    def _path(self, url: str) -> str | None:
        """Return the path of a page from its address; None if it is the address of another."""
        path = unquote(urlsplit(url).path)
        name = f"/{self._zimfile}/"
        if name not in path:
            return None
        return path.partition(name)[2].removeprefix("content/") or None
