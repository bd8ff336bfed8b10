r"""What all games share: actions in ``\boxed{...}``, turns, the turn limit, rewards.

A game writes ``start`` (set up, return the rules), ``play`` (one well-formed action) and
``render`` (what the agent must see each turn besides the history). ``Game.step`` adds the rest:

==================  =======  ================================================================
what happened        reward  episode
==================  =======  ================================================================
no valid action        -0.1  terminated
invalid move            0.0  goes on
turn limit reached    ``*``  truncated; ``*`` is the game's ``reward_at_limit``
won or lost          game's  terminated, on the last turn too
==================  =======  ================================================================
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from gem_core import Action, BaseEnv, Info, Step
from gem_core.errors import ConfigError, InvalidActionError

__all__ = [
    "DIGITS",
    "FORMAT_ERROR_REWARD",
    "Game",
    "Outcome",
    "boxed",
    "check_range",
]

FORMAT_ERROR_REWARD = -0.1
DIGITS = r"\d{1,4000}"
"""A number in the pattern of an action: no longer than ``int`` takes (4,300 digits)."""


Outcome = tuple[str, float, bool]
"""What a well-formed action came to: feedback for the agent, reward, whether the game is over."""


def boxed(content: str, flags: int = 0) -> re.Pattern[str]:
    r"""Compile the pattern of a game's action: the last ``\boxed{content}`` of a text that fits.

    Padding inside the braces is allowed. Use it with ``match``: the pattern starts with a greedy
    ``.*``, which finds the last box at the cost of one look back over the text.
    """
    return re.compile(rf"(?s:.*)\\boxed\{{\s*{content}\s*\}}", flags)


def check_range(name: str, value: int | None, low: int, high: int) -> None:
    """Raise ``ConfigError`` unless ``value`` is None or an int in ``[low, high]``."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}; got {value!r}.")


class Game(BaseEnv):
    """Base of the games: write ``start``, ``play`` and ``render``.

    ``max_turns`` and ``turn_count`` belong to the game; ``start`` sets both.
    """

    pattern: ClassVar[re.Pattern[str]]
    """What an action looks like; made by ``boxed``."""
    action_format: ClassVar[str]
    r"""How the feedback on a malformed action describes the format: ``\boxed{guess}``."""

    board_styles: ClassVar[Mapping[str, str]] = {}
    """How a terminal colours the suffix for people: rich styles by regular expression."""

    max_turns: int
    turn_count: int

    @abstractmethod
    def play(self, match: re.Match[str]) -> Outcome:
        """Take one well-formed action; ``self.turn_count`` counts it already."""

    @abstractmethod
    def render(self) -> str:
        """Return the text that belongs after the history: the board, and what to do next."""

    def reward_at_limit(self, reward: float) -> float:
        """Return the reward of a turn that reaches the limit; ``reward`` is what ``play`` gave."""
        return reward

    def opening(self, rules: str) -> tuple[str, Info]:
        """Return what ``start`` returns: the rules, and the first board in ``info``."""
        self.turn_count = 0
        return rules, {"suffix": self.render()}

    def step(self, action: Action) -> Step:
        try:
            match = self.pattern.match(action)
        except TypeError:
            name = type(self).__name__
            got = type(action).__name__
            raise InvalidActionError(f"An action of {name} is text; got {got}.") from None
        self.turn_count += 1
        if match is None:
            observation = (
                f"Turn {self.turn_count}: no valid action was found. "
                f"It must be written as {self.action_format}. The game is over."
            )
            info = {"suffix": self.render(), "format_error": True}
            return Step(observation, FORMAT_ERROR_REWARD, True, False, info)
        observation, reward, done = self.play(match)
        info = {"suffix": self.render()}
        if done:
            return Step(observation, reward, True, False, info)
        if self.turn_count >= self.max_turns:
            observation = f"The limit of {self.max_turns} turns is reached. The game is over."
            return Step(observation, self.reward_at_limit(reward), False, True, info)
        return Step(observation, reward, False, False, info)
