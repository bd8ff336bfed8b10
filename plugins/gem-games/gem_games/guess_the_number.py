"""GuessTheNumber: find a secret number from "higher" and "lower"."""

import functools
import math
import re

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_games.base import DIGITS, Game, Outcome, boxed, check_range

__all__ = ["GuessTheNumberEnv", "GuessTheNumberOracle"]


@functools.lru_cache(maxsize=4096)
def _rules(low: int, high: int, max_turns: int, example: int) -> str:
    return f"""\
You are playing Guess The Number.
I have chosen a secret whole number from {low} to {high}, both included. You have {max_turns} \
turns to find it. After each guess I tell you whether the secret is higher or lower.
Write your guess inside \\boxed{{}}, for example \\boxed{{{example}}}. You may reason before it; \
if there are several boxes, the last one counts. A reply without a valid box ends the game.
The history of your guesses will follow here, so use every hint.
Make your first guess."""


class GuessTheNumberEnv(Game):
    """Find a secret number.

    The reward is 1.0 for the secret; at the turn limit, ``1 - |guess - secret| / (max - min)`` for
    a last guess within the range; and 0.0 for every other guess.

    Args:
        min_number: The smallest possible secret, from -1,000,000 to 1,000,000. None draws 1 to 10
            in each episode.
        max_number: The largest possible secret, above ``min_number`` and at most 2,000,000. None
            draws ``min_number`` plus 5 to 50 in each episode.
        max_turns: The number of guesses, 1 to 1,000. None means ``ceil(sqrt(max - min)) + 1``.
    """

    pattern = boxed(rf"([+-]?{DIGITS})")
    action_format = "\\boxed{number}"

    def __init__(
        self,
        *,
        min_number: int | None = 1,
        max_number: int | None = 20,
        max_turns: int | None = 20,
    ) -> None:
        check_range("min_number", min_number, -(10**6), 10**6)
        lowest = 6 if min_number is None else min_number
        check_range("max_number", max_number, lowest + 1, 2 * 10**6)
        check_range("max_turns", max_turns, 1, 1000)
        self._parameters = (min_number, max_number, max_turns)

    def start(self) -> tuple[Observation, Info]:
        low, high, max_turns = self._parameters
        if low is None:
            low = 1 + int(self.rng.random() * (10 if high is None else min(10, high - 1)))
        if high is None:
            high = low + 5 + int(self.rng.random() * 46)
        self.min_number, self.max_number = low, high
        self.max_turns = max_turns or math.ceil(math.sqrt(high - low)) + 1
        self.game_number = low + int(self.rng.random() * (high - low + 1))
        self.previous_guesses: set[int] = set()
        # The example is any number except the secret, and so reveals nothing else.
        example = low + int(self.rng.random() * (high - low))
        example += example >= self.game_number
        return self.opening(_rules(low, high, self.max_turns, example))

    @property
    def solution_text(self) -> str:
        return str(self.game_number)

    def play(self, match: re.Match[str]) -> Outcome:
        guess = self.last_guess = int(match[1])
        turn, secret = self.turn_count, self.game_number
        if not self.min_number <= guess <= self.max_number:
            bounds = f"from {self.min_number} to {self.max_number}"
            return f"Turn {turn}: {guess} is not a number {bounds}.", 0.0, False
        if guess == secret:
            return f"Turn {turn}: {guess} is the secret number. You win!", 1.0, True
        hint = "higher" if secret > guess else "lower"
        again = " again" if guess in self.previous_guesses else ""
        self.previous_guesses.add(guess)
        return f"Turn {turn}: you guessed {guess}{again}. The secret number is {hint}.", 0.0, False

    def reward_at_limit(self, reward: float) -> float:
        if not self.min_number <= self.last_guess <= self.max_number:
            return reward
        distance = abs(self.last_guess - self.game_number)
        return 1.0 - distance / (self.max_number - self.min_number)

    def render(self) -> str:
        return "Your next guess:"

    def sample_random_action(self) -> Action:
        return f"\\boxed{{{self.action_rng.randint(self.min_number, self.max_number)}}}"


class GuessTheNumberOracle(BaseAgent):
    """An agent that bisects the range; it needs at most ``ceil(log2(size + 1))`` guesses."""

    def reset(self, env: Env) -> None:
        self._low: int | None = None

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        if self._low is None:
            bounds = re.search(r"from (-?\d+) to (-?\d+), both", text)
            if bounds is None:
                raise ValueError("GuessTheNumberOracle needs an observation with the rules first.")
            self._low, self._high = int(bounds[1]), int(bounds[2])
        for guess, hint in re.findall(
            r"guessed (-?\d+)(?: again)?\. The secret number is (\w+)", text
        ):
            if hint == "higher":
                self._low = max(self._low, int(guess) + 1)
            else:
                self._high = min(self._high, int(guess) - 1)
        return f"\\boxed{{{(self._low + self._high) // 2}}}"
