"""The game as a person plays it in the terminal: numbered links in columns, and short forms."""

from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from gem_core import Info
from gem_games.wikigame.pages import BACK, MORE

if TYPE_CHECKING:
    from gem_games.wikigame.env import WikiGameEnv

__all__ = ["HumanView"]

_WIDEST = 40
"""The most cells of a column; a longer title takes the cells that it needs."""


class HumanView:
    """The view of a person who plays an episode.

    Args:
        env: The environment.
    """

    def __init__(self, env: "WikiGameEnv") -> None:
        self._env = env

    def screen(self, observation: str, info: Info, width: int) -> str:
        """Return the observation, and the page with its links in numbered columns.

        Args:
            observation: What an agent sees; the summary of the page is not repeated.
            info: The ``info`` of the step.
            width: The cells of a line.
        """
        env = self._env
        labels = env.labels()
        first = env.first_link
        shown = [f"[{number}] {label}" for number, label in enumerate(labels, start=1)][
            first : first + env.links_per_page
        ]
        ways = ["a number, a title or a part of it"]
        ways += ["b to go back"] if env.memory.back() is not None else []
        ways += ["m for more links"] if len(labels) > env.links_per_page else []
        summary = env.page_summary
        text = "" if summary in observation else f"{summary}\n"
        return (
            f"{observation}\n\nCurrent page: {env.page.title}\nTarget page: {env.target.title}   "
            f"(turn {env.turn_count + 1} of {env.max_turns})\n{text}\n"
            f"{_columns(shown, width)}\n\nYour next link ({', '.join(ways)}):"
        )

    def typed(self, text: str) -> str:
        """Return the action that a person means: a command, a link, or else the text itself."""
        labels, wanted = self._env.labels(), text.strip().lower()
        if text in labels:
            return text
        if wanted in _SHORT:
            return _SHORT[wanted]
        if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(labels):
            return labels[int(wanted[:9]) - 1]
        for found in (
            [label for label in labels if label.lower() == wanted],
            [label for label in labels if label.lower().startswith(wanted)],
            [label for label in labels if wanted in label.lower()],
        ):
            if len(found) == 1:
                return found[0]
        return text


_SHORT = {"b": BACK, "back": BACK, "m": MORE, "more": MORE}


def _columns(items: list[str], width: int) -> str:
    """Return items in columns, read from top to bottom."""
    if not items:
        return "(no links)"
    cell = min(_WIDEST, max(map(_cells, items))) + 2
    count = max(1, min(len(items), width // cell))
    rows = -(-len(items) // count)
    lines = []
    for row in range(rows):
        parts = [item + " " * (cell - _cells(item)) for item in items[row::rows]]
        lines.append("".join(parts).rstrip())
    return "\n".join(lines)


def _cells(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
