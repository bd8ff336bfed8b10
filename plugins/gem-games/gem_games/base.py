r"""The base class of games: actions in ``\boxed{...}``, turns, the turn limit, and rewards.

A game implements ``start`` (set up the episode and return the rules), ``play`` (process one
well-formed action) and ``render`` (return the text that follows the history, such as the board).
``Game.step`` handles the rest:

==================  =======  ================================================================
event                reward  episode
==================  =======  ================================================================
no valid action        -0.1  terminated
invalid move            0.0  continues
turn limit reached    ``*``  truncated; ``*`` is the game's ``reward_at_limit``
won or lost          game's  terminated, also on the last turn
==================  =======  ================================================================
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from gem_core import Action, BaseEnv, Info, Step
from gem_core.boxes import with_plain_box
from gem_core.errors import ConfigError, InvalidActionError
from gem_core.info import Grading, graded, shortened
from gem_core.thoughts import spoken

__all__ = [
    "DIGITS",
    "FORMAT_ERROR_REWARD",
    "Game",
    "Outcome",
    "boxed",
    "check_range",
]

FORMAT_ERROR_REWARD = -0.1
_DIGITS_OF_SUMS = 9
"""Ten rewards of 0.1 add up to a little less than 1."""
DIGITS = r"\d{1,4000}"
"""The pattern of a number in an action, limited because ``int`` accepts at most 4,300 digits."""

Outcome = tuple[str, float, bool]
"""The result of a well-formed action: feedback for the agent, reward, whether the game is over."""


def boxed(content: str, flags: int = 0) -> re.Pattern[str]:
    r"""Compile the pattern of an action: the last ``\boxed{content}`` in a text.

    White space inside the braces is allowed. The pattern is for ``match``: it starts with a greedy
    ``.*``, which finds the last matching box in linear time.
    """
    return re.compile(rf"(?s:.*)\\boxed\{{\s*{content}\s*\}}", flags)


def check_range(name: str, value: int | None, low: int, high: int) -> None:
    """Raise ``ConfigError`` unless ``value`` is None or an int in ``[low, high]``."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}; got {value!r}.")


class Game(BaseEnv):
    """The base class of games; subclasses implement ``start``, ``play`` and ``render``.

    ``start`` sets ``max_turns`` and returns the result of ``opening``.
    """

    pattern: ClassVar[re.Pattern[str]]
    """The pattern of an action, made by ``boxed``."""
    action_format: ClassVar[str]
    r"""The format of an action in the feedback to a malformed one, such as ``\boxed{guess}``."""

    board_styles: ClassVar[Mapping[str, str]] = {}
    """The colours of the board in a terminal: rich styles by regular expression."""

    max_turns: int
    turn_count: int
    earned: float = 0.0
    """The sum of the rewards of the episode; 1 for a game that is won."""
    _asked: str = ""
    """The rules, as ``info["grading"]`` has them."""

    @abstractmethod
    def play(self, match: re.Match[str]) -> Outcome:
        """Process one well-formed action; ``self.turn_count`` already includes it."""

    @abstractmethod
    def render(self) -> str:
        """Return the text that follows the history: the board, and a prompt for an action."""

    @property
    def solution_text(self) -> str | None:
        """What was to be found, such as a secret word; None if there is no single solution."""
        return None

    def reward_at_limit(self, reward: float) -> float:
        """Return the reward of the turn that reaches the limit; ``reward`` is that of ``play``."""
        return reward

    def opening(self, rules: str) -> tuple[str, Info]:
        """Return the first observation and info of an episode: the rules, and the first board."""
        self.turn_count, self.earned, self._asked = 0, 0.0, shortened(rules)
        return rules, {"suffix": self.render()}

    def said(self, action: str) -> str:
        """Return the text in which an action is looked for: that without thoughts."""
        return spoken(action)

    def reread(self, text: str) -> re.Match[str] | None:
        r"""Return the parts of an action whose box holds formatting, as ``\boxed{\text{5}}``."""
        return self.pattern.match(with_plain_box(text))

    def read(self, action: Action) -> re.Match[str] | None:
        """Return the parts of an action; None if it is malformed, or was only thought of.

        Raises:
            InvalidActionError: The action is not text.
        """
        try:
            text = self.said(action)
            match = self.pattern.match(text)
        except (AttributeError, TypeError):
            name = type(self).__name__
            got = type(action).__name__
            raise InvalidActionError(f"An action of {name} is text; got {got}.") from None
        if match is None or text.find("\\boxed", match.end()) >= 0:
            return self.reread(text) or match
        return match

    def step(self, action: Action) -> Step:
        match = self.read(action)
        self.turn_count += 1
        if match is None:
            observation = (
                f"Turn {self.turn_count}: no valid action was found. "
                f"It must be written as {self.action_format}. The game is over."
            )
            info = {"suffix": self.render(), "format_error": True}
            info["grading"] = self._grading(None, f"no action of the form {self.action_format}")
            return Step(observation, FORMAT_ERROR_REWARD, True, False, info)
        observation, reward, done = self.play(match)
        info = {"suffix": self.render()}
        is_late = not done and self.turn_count >= self.max_turns
        if is_late:
            last, reward = observation, self.reward_at_limit(reward)
            observation = f"The limit of {self.max_turns} turns is reached. The game is over."
        self.earned += reward
        if done or is_late:
            reason = f"{self.max_turns} turns are over. {last}" if is_late else observation
            info["grading"] = self._grading(match, reason)
        return Step(observation, reward, done, is_late, info)

    def _grading(self, match: re.Match[str] | None, reason: str) -> Grading:
        """Return ``info["grading"]``; the last action is what was read from the reply."""
        parts = [] if match is None else [part for part in match.groups() if part is not None]
        return graded(
            question=self._asked,
            expected=self.solution_text,
            extracted=" ".join(parts) if parts else None,
            score=0.0 if match is None else round(self.earned, _DIGITS_OF_SUMS),
            reason=reason,
        )
