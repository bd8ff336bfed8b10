"""The graph ``zim``: the pages of a ZIM file, read on demand with libzim (``gem-games[zim]``)."""

import random
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError, DataError
from gem_core.extras import require
from gem_games.wikigame.errors import PageFault, PageNotFoundError
from gem_games.wikigame.graph import LazyGraph
from gem_games.wikigame.html import Document, read_page
from gem_games.wikigame.pages import Page
from gem_games.wikigame.sources import OneGraph

__all__ = ["Zim", "ZimGraph"]

_TRIES = 1000
"""Entries that are tried to find an article: many are images and redirects."""


class Zim(OneGraph):
    """The pages of a ZIM file.

    Args:
        data: The file; https://library.kiwix.org has many.
        kept: The number of pages that are kept in memory.
    """

    def __init__(self, *, data: str | None = None, kept: int = 4096) -> None:
        if data is None:
            raise ConfigError(
                "The graph 'zim' needs data=, a ZIM file. https://library.kiwix.org has many."
            )
        require("gem-games[zim]", "The graph 'zim'")
        from libzim.reader import Archive  # noqa: PLC0415 - an extra

        path = Path(data).expanduser()
        try:
            archive = Archive(path)
        except RuntimeError as error:
            raise DataError(f"{path} cannot be read as a ZIM file: {error}") from error
        self._graph = ZimGraph(archive, kept)


class ZimGraph(LazyGraph):
    """The pages of an archive of libzim; keys are their paths.

    Args:
        archive: The archive.
        kept: The number of pages that are kept.
    """

    def __init__(self, archive: Any, kept: int = 4096) -> None:
        super().__init__(kept)
        self._archive = archive

    def fetch(self, key: str) -> Page:
        """Load a page; see ``LazyGraph.fetch``."""
        for path in (key, key.replace(" ", "_")):
            if self._archive.has_entry_by_path(path):
                return self._read(self._archive.get_entry_by_path(path))
        raise PageNotFoundError(f"{self._archive.filename} has no page {key!r}.")

    def _read(self, entry: Any) -> Page:
        try:
            item = entry.get_item()  # that of the last entry of a chain of redirects
            content = bytes(item.content).decode("utf-8", errors="replace")
        except RuntimeError as error:
            raise PageFault(f"{entry.path!r} cannot be read: {error}") from error
        if not item.mimetype.startswith("text/html"):
            raise PageNotFoundError(f"{item.path!r} is not a page, but {item.mimetype}.")
        return read_page(Document(content), item.path)

    def search(self, words: str) -> str | None:
        """Return the first page whose title begins with some words, or contains them."""
        from libzim.suggestion import SuggestionSearcher  # noqa: PLC0415 - an extra

        found = SuggestionSearcher(self._archive).suggest(words.replace("_", " "))
        return next(iter(found.getResults(0, 1)), None)

    def random_key(self, rng: random.Random) -> str:
        """Return the path of a random page."""
        size = self._archive.all_entry_count
        for _ in range(_TRIES if size else 0):
            entry = self._archive._get_entry_by_id(int(rng.random() * size))  # noqa: SLF001
            if not entry.is_redirect and entry.get_item().mimetype.startswith("text/html"):
                return str(entry.path)
        raise PageFault(f"{self._archive.filename} has no pages, as far as {_TRIES} tries tell.")
