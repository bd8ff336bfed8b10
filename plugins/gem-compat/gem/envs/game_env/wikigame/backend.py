"""The trawlers of WikiGame, which load the pages of a server."""

from collections.abc import Mapping
from typing import Any, ClassVar

from gem.envs.game_env.wikigame.wikipage import WikipediaPage
from gem.requirements import needs

with needs("gem-games"):
    from gem_games.wikigame.graph import LazyGraph
    from gem_games.wikigame.kiwix import URL as KIWIX_URL
    from gem_games.wikigame.kiwix import ZIMFILE
    from gem_games.wikigame.mediawiki import URL as MEDIAWIKI_URL
    from gem_games.wikigame.pages import Page
    from gem_games.wikigame.sources import open_source

__all__ = ["TRAWLERS", "BaseWikiTrawler", "KiwixWikiTrawler", "MediaWikiTrawler", "wikipedia_page"]


def wikipedia_page(page: Page) -> WikipediaPage:
    """Return a page of gem-games in the form of gem-llm."""
    return WikipediaPage(page.key, page.title, page.text, list(page.links.values()))


class BaseWikiTrawler:
    """The base of trawlers: pages of a server by title.

    Args:
        url: The address of the server.
        query_delay_ms: Milliseconds between two requests.
        max_query_attempts: Attempts for each request.
        query_use_cache: Whether pages are kept after a reset.
    """

    graph_name: ClassVar[str] = ""
    """The name of the graph in gem-games."""

    def __init__(
        self,
        url: str,
        query_delay_ms: int = 25,
        max_query_attempts: int = 5,
        query_use_cache: bool = False,
    ) -> None:
        self.url = url
        self.query_delay_ms = query_delay_ms
        self.max_query_attempts = max_query_attempts
        self.query_use_cache = query_use_cache

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the graph in gem-games."""
        return {"delay_ms": self.query_delay_ms, "attempts": self.max_query_attempts}

    @property
    def graph(self) -> LazyGraph:
        """The graph in gem-games."""
        graph: Any = open_source(self.graph_name, self.url, self.options).graph(0)
        return graph  # type: ignore[no-any-return]

    def get_page(self, title: str) -> WikipediaPage:
        """Return a page, or the one that a redirect, a list of meanings or a search leads to.

        Raises:
            BackendFailureException: It cannot be loaded.
        """
        return wikipedia_page(self.graph.page(title))

    def reset(self) -> None:
        """Forget the pages, unless ``query_use_cache`` is true."""
        if not self.query_use_cache:
            self.graph.forget()


class MediaWikiTrawler(BaseWikiTrawler):
    """Pages of a MediaWiki such as Wikipedia, through its API.

    Args:
        url: The address of the API.
        query_delay_ms: Milliseconds between two requests.
        max_query_attempts: Attempts for each request.
        query_use_cache: Whether pages are kept after a reset.
    """

    graph_name = "mw"

    def __init__(
        self,
        url: str = MEDIAWIKI_URL,
        query_delay_ms: int = 25,
        max_query_attempts: int = 5,
        query_use_cache: bool = False,
    ) -> None:
        super().__init__(url, query_delay_ms, max_query_attempts, query_use_cache)


class KiwixWikiTrawler(BaseWikiTrawler):
    """Pages of a server of kiwix.

    Args:
        url: The address of the server.
        zimfile: The name of the file that it serves.
        query_delay_ms: Milliseconds between two requests.
        max_query_attempts: Attempts for each request.
        query_use_cache: Whether pages are kept after a reset.
    """

    graph_name = "kiwix"

    def __init__(
        self,
        url: str = KIWIX_URL,
        zimfile: str = ZIMFILE,
        query_delay_ms: int = 25,
        max_query_attempts: int = 5,
        query_use_cache: bool = False,
    ) -> None:
        super().__init__(url, query_delay_ms, max_query_attempts, query_use_cache)
        self.zimfile = zimfile

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the graph in gem-games."""
        return {**super().options, "zimfile": self.zimfile}


TRAWLERS: Mapping[str, Any] = {"mw": MediaWikiTrawler, "kiwix": KiwixWikiTrawler}
"""The trawlers by the name of the backend."""
