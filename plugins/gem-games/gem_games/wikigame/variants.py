"""The variants of WikiGame: what an episode remembers, and which moves this allows.

A variant answers four questions about a position: which links may be followed, which page a step
back leads to, what a move changes, and how far the target is. The environment and the oracle ask
nothing else, so a new variant is one class here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from gem_games.wikigame.pages import BACK, Page

__all__ = ["VARIANTS", "Eidetic", "FreeNav", "NoRegrets", "OneBack", "Option", "Steps", "Variant"]

Steps = Callable[[str], int | None]
"""The number of links from a page, given by its key, to the target; None if unknown or no way."""


class Option(NamedTuple):
    """The first action of a way to a page.

    Args:
        turns: Actions to reach the page.
        action: The first of them: a label, or ``BACK``.
        key: The page.
    """

    turns: int
    action: str
    key: str


class Variant:
    """The base class of variants.

    Args:
        page: The start of the episode.
    """

    rule: ClassVar[str] = ""
    """The sentence of the rules that describes it."""
    goes_back: ClassVar[bool] = False
    """Whether steps back exist, and a dead end returns instead of ending the episode."""

    def __init__(self, page: Page) -> None:
        self.reset(page)

    def reset(self, page: Page) -> None:
        """Forget everything and start on a page."""

    def links(self, page: Page) -> Mapping[str, str]:
        """Return the keys of the pages that may be followed from a page, by label."""
        return page.links

    def moved(self, origin: Page, page: Page) -> None:
        """Note that a link was followed."""

    def back(self) -> str | None:
        """Return the key of the page that a step back leads to; None if it is not allowed."""
        return None

    def went_back(self) -> None:
        """Note a step back, or an automatic return from a dead end.

        A return is preceded by ``moved``.
        """

    def earlier(self) -> Iterator[str]:
        """Yield the keys of the pages that one, two, ... steps back lead to."""
        return iter(())

    def distance(self, page: Page, steps: Steps) -> int | None:
        """Return the fewest actions from a page to the target; None if unknown or impossible."""
        found = [turns + far for turns, far in self._reached(page, steps) if far is not None]
        return min(found, default=None)

    def _reached(self, page: Page, steps: Steps) -> Iterator[tuple[int, int | None]]:
        yield 0, steps(page.key)
        for turns, key in enumerate(self.earlier(), start=1):
            yield turns, steps(key)

    def options(self, page: Page) -> Iterator[Option]:
        """Yield the actions from a page: every link, and the steps back."""
        for label, key in self.links(page).items():
            yield Option(1, label, key)
        for turns, key in enumerate(self.earlier(), start=1):
            yield Option(turns, BACK, key)


class NoRegrets(Variant):
    """Only the links of the page may be followed; a dead end ends the episode."""

    rule = "You cannot go back, and a page without links ends the game."

    def distance(self, page: Page, steps: Steps) -> int | None:
        return steps(page.key)


class Eidetic(Variant):
    """Every link that was seen in the episode may be followed."""

    rule = "You remember every link that you have seen: you may follow any of them from any page."

    def reset(self, page: Page) -> None:
        self.visited = [page.key]
        self.seen = dict(page.links)

    def links(self, page: Page) -> Mapping[str, str]:
        return self.seen

    def moved(self, origin: Page, page: Page) -> None:
        self.visited.append(page.key)
        self.seen.update(page.links)

    def distance(self, page: Page, steps: Steps) -> int | None:
        here = steps(page.key)
        if here == 0:
            return 0  # elsewhere, the link to a page counts, and not a return to it
        found = [far for far in map(steps, self.visited) if far]
        return min(found, default=None)


class OneBack(Variant):
    """The last move may be taken back, but not two in a row."""

    rule = (
        f"\\boxed{{{BACK}}} returns to the previous page, but never twice in a row. A page without "
        f"links returns by itself, which costs one more turn and counts as going back."
    )
    goes_back = True

    def reset(self, page: Page) -> None:
        self.previous: str | None = None

    def moved(self, origin: Page, page: Page) -> None:
        self.previous = origin.key

    def back(self) -> str | None:
        return self.previous

    def went_back(self) -> None:
        self.previous = None

    def earlier(self) -> Iterator[str]:
        if self.previous is not None:
            yield self.previous


class FreeNav(Variant):
    """All moves may be taken back, one after the other, as in a browser."""

    rule = (
        f"\\boxed{{{BACK}}} returns to the previous page, as often as you like. A page without "
        f"links returns by itself, which costs one more turn."
    )
    goes_back = True

    def reset(self, page: Page) -> None:
        self.trail: list[str] = []

    def moved(self, origin: Page, page: Page) -> None:
        self.trail.append(origin.key)

    def back(self) -> str | None:
        return self.trail[-1] if self.trail else None

    def went_back(self) -> None:
        self.trail.pop()

    def earlier(self) -> Iterator[str]:
        return reversed(self.trail)


VARIANTS: Mapping[str, type[Variant]] = {
    "noregrets": NoRegrets,
    "eidetic": Eidetic,
    "oneback": OneBack,
    "freenav": FreeNav,
}
"""The variants by name."""
