"""Graphs of pages: ``PageGraph`` has all its links in memory, ``LazyGraph`` loads pages on demand.

All environments of a process share a graph, and it does not change: its caches only save work.
"""

import random
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock
from gem_games.wikigame.errors import DisambiguationError, PageFault, PageNotFoundError
from gem_games.wikigame.pages import Page, labels_of
from gem_games.wikigame.search import BackwardSearch
from gem_games.wikigame.variants import Steps

__all__ = ["Graph", "LazyGraph", "PageGraph"]

_TRIES = 100
"""Random pages that are tried before the pages are searched one by one."""


class Graph(Protocol):
    """The graph that the game needs."""

    is_whole: bool
    """Whether all links, and so all distances, are known."""

    def page(self, key: str) -> Page:
        """Return a page.

        Raises:
            PageFault: It cannot be loaded.
        """

    def known(self, page: Page) -> Page:
        """Return the graph's own copy of a page, or the page itself if it has none."""

    def steps(self, target: Page) -> Steps:
        """Return the distances of pages to a target."""

    def draw(self, rng: random.Random, nearest: int, farthest: int) -> tuple[Page, Page]:
        """Return a random start and a target ``nearest`` to ``farthest`` links away."""

    def forget(self) -> None:
        """Forget the pages that were loaded from elsewhere."""


class PageGraph:
    """A graph with all its links in memory, so that all distances are known.

    Args:
        name: What it is, for messages.
        titles: The titles of its pages.
        links: The positions of the linked pages, by page.
        text: Returns the text of the page at a position; it is called once for each page.
    """

    is_whole = True

    def __init__(
        self,
        name: str,
        titles: Sequence[str],
        links: Sequence[Sequence[int]],
        text: Callable[[int], str],
    ) -> None:
        self._name = name
        self._labels = labels_of(titles)
        self._links = links
        self._text = text
        self._index = {label: position for position, label in enumerate(self._labels)}
        self._pages: list[Page | None] = [None] * len(self._labels)
        self._search = BackwardSearch(links)

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def labels(self) -> Sequence[str]:
        """The labels of all pages, which are also their keys."""
        return self._labels

    def page(self, key: str) -> Page:
        """Return a page; see ``Graph.page``."""
        try:
            position = self._index[key]
        except KeyError:
            raise PageNotFoundError(f"{self._name} has no page {key!r}.") from None
        page = self._pages[position]
        if page is None:
            labels = self._labels
            links = {labels[other]: labels[other] for other in self._links[position]}
            page = Page(key, key, self._text(position), links)
            self._pages[position] = page
        return page

    def known(self, page: Page) -> Page:
        """Return the graph's own copy of a page."""
        return self.page(page.key)

    def forget(self) -> None:
        """Do nothing: no page came from elsewhere."""

    def steps(self, target: Page) -> Steps:
        """Return the distances to a target."""
        distance, index = self._search.to(self._index[target.key]), self._index
        return lambda key: distance(index[key])

    def draw(self, rng: random.Random, nearest: int, farthest: int) -> tuple[Page, Page]:
        """Return a start and a target; see ``Graph.draw``.

        Raises:
            ConfigError: No two pages are that far apart.
        """
        size = len(self._labels)
        for _ in range(_TRIES):
            target = int(rng.random() * size)
            if self._links[target]:
                distance = self._search.to(target)
                for _ in range(_TRIES):
                    start = int(rng.random() * size)
                    if nearest <= (distance(start) or 0) <= farthest:
                        return self._pair(start, target)
        return self._pair(*self._any_pair(rng, nearest, farthest))

    def _pair(self, start: int, target: int) -> tuple[Page, Page]:
        return self.page(self._labels[start]), self.page(self._labels[target])

    def _any_pair(self, rng: random.Random, nearest: int, farthest: int) -> tuple[int, int]:
        """Return a start and a target, from a random page on."""
        size = len(self._labels)
        first = int(rng.random() * size)
        for target in (*range(first, size), *range(first)):
            if self._links[target]:
                distance = self._search.to(target)
                starts = [one for one in range(size) if nearest <= (distance(one) or 0) <= farthest]
                if starts:
                    return rng.choice(starts), target
        raise ConfigError(
            f"{self._name} has no start and target {nearest} to {farthest} links apart: change "
            f"min_distance, max_distance or the graph."
        )


class LazyGraph(ABC):
    """A graph of pages that are loaded one by one, from a file or a server.

    A name without a page stands for the first hit of a search, and a page that only lists meanings
    for the first of them that exists. The last pages are kept. Distances are known only from a page
    that links to the target.

    Args:
        kept: The number of pages that are kept.
    """

    is_whole = False

    def __init__(self, kept: int = 4096) -> None:
        self._kept = kept
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._lock = Lock()

    @abstractmethod
    def fetch(self, key: str) -> Page:
        """Load a page; its own key may differ, if it was redirected.

        Raises:
            PageNotFoundError: There is no such page.
            DisambiguationError: The page only lists the meanings of the name.
            PageFault: The page cannot be loaded.
        """

    @abstractmethod
    def search(self, words: str) -> str | None:
        """Return the key of the page that fits some words best; None if none does."""

    @abstractmethod
    def random_key(self, rng: random.Random) -> str:
        """Return the key of a random page, which need not have links."""

    def page(self, key: str) -> Page:
        """Return a page; see ``Graph.page``."""
        with self._lock:
            page = self._pages.get(key)
        if page is None:
            page = self._kept_page(key, self._resolved(key))
        return page

    def _kept_page(self, key: str, page: Page) -> Page:
        with self._lock:
            self._pages[key] = self._pages[page.key] = page
            while len(self._pages) > self._kept:
                self._pages.popitem(last=False)
        return page

    def _resolved(self, key: str) -> Page:
        try:
            return self.fetch(key)
        except PageNotFoundError:
            hit = self.search(key)
            if hit is None or hit == key:
                raise
            return self._first([hit])
        except DisambiguationError as error:
            return self._first(error.options)

    def _first(self, keys: Sequence[str]) -> Page:
        """Return the first page that exists, or the first meaning of a page with several."""
        for key in keys:
            try:
                return self.fetch(key)
            except PageNotFoundError:
                continue
            except DisambiguationError as error:
                meanings = [other for other in error.options if other not in keys]
                if meanings:
                    return self._first(meanings[:10])
        raise PageNotFoundError(f"None of these pages exists: {', '.join(map(repr, keys))}.")

    def known(self, page: Page) -> Page:
        """Return the page itself: it need not be loaded again."""
        return page

    def forget(self) -> None:
        """Forget the pages that were kept."""
        with self._lock:
            self._pages.clear()

    def steps(self, target: Page) -> Steps:
        """Return the distances to a target, as far as they are known without loading a page."""
        pages = self._pages

        def steps(key: str) -> int | None:
            if key == target.key:
                return 0
            page = pages.get(key)
            return 1 if page is not None and target.key in page.links.values() else None

        return steps

    def draw(self, rng: random.Random, nearest: int, farthest: int) -> tuple[Page, Page]:
        """Return a random page, and one that a walk over links reaches from it.

        The walk never returns, and its last page is not linked from the first if ``nearest`` is
        above 1. So the target is at most ``farthest`` links away, and at least 2; whether a
        shorter way than ``nearest`` exists is not known for a larger ``nearest``.

        Raises:
            PageFault: No start and target were found, or a page cannot be loaded.
        """
        for _ in range(10):
            start = self._drawn(rng)
            length = nearest + int(rng.random() * (farthest - nearest + 1))
            target = start and self._walk(rng, start, length)
            if start and target and (nearest < 2 or target.key not in start.links.values()):
                return start, target
        raise PageFault(
            f"{type(self).__name__}: 10 random pages led to no target {nearest} to {farthest} "
            f"links away."
        )

    def _drawn(self, rng: random.Random) -> Page | None:
        """Return a random page with links, or None."""
        try:
            key = self.random_key(rng)
            page = self._pages.get(key) or self._kept_page(key, self.fetch(key))
        except (PageNotFoundError, DisambiguationError):
            return None
        return page if page.links else None

    def _walk(self, rng: random.Random, start: Page, length: int) -> Page | None:
        page, passed = start, {start.key}
        for _ in range(length):
            following = self._follow(rng, page, passed)
            if following is None:
                return None
            page = following
            passed.add(page.key)
        return page

    def _follow(self, rng: random.Random, page: Page, passed: set[str]) -> Page | None:
        """Return a page that was not passed and has links itself, from up to five tries."""
        keys = [key for key in page.links.values() if key not in passed]
        for key in rng.sample(keys, min(5, len(keys))):
            try:
                found = self.page(key)
            except PageNotFoundError:
                continue
            if found.links and found.key not in passed:
                return found
        return None
