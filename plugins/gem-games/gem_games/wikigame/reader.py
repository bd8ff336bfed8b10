"""A player of WikiGame that matches words: a floor for players that understand what they read."""

import random
import re

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text

__all__ = ["WikiGameReader"]

_TARGET = re.compile(r"^Target page: (.*)\nAbout the target: (.*)$", re.MULTILINE)
_CURRENT = re.compile(r"^Current page: (.*)$", re.MULTILINE)
_LINK = re.compile(r"^\\boxed\{(.*)\}$", re.MULTILINE)
_WORD = re.compile(r"\w{4,}|\d+")
_COMMON = frozenset(
    ("about", "from", "have", "into", "north", "south", "that", "their", "this", "were", "with")
)


class WikiGameReader(BaseAgent):
    """An agent that follows the link whose title has the most words of the target's summary.

    It prefers pages that it has not visited, and chooses among equals at random. It sees nothing
    but the texts of the game.
    """

    def __init__(self) -> None:
        self._rng = random.Random(0)

    def seed_episode(self, seed: int) -> None:
        """Seed the choices among equals."""
        self._rng = random.Random(seed)

    def reset(self, env: Env) -> None:
        self._words: frozenset[str] = frozenset()
        self._target = ""
        self._visited: set[str] = set()

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        about = _TARGET.search(text)
        if about is not None:
            self._target, self._words = about[1], _words(f"{about[1]} {about[2]}")
        page = text.rindex("Current page: ")
        current = _CURRENT.search(text, page)
        self._visited.add(current[1] if current else "")
        links = _LINK.findall(text, text.rindex("\nLinks:\n", page))
        return f"\\boxed{{{max(links, key=self._value)}}}" if links else ""

    def _value(self, title: str) -> tuple[bool, bool, int, float]:
        is_new = title not in self._visited
        return title == self._target, is_new, len(_words(title) & self._words), self._rng.random()


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _COMMON
