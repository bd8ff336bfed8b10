"""Mastermind: find a secret code from black and white pegs."""

import operator
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import DIGITS, Game, Outcome, boxed, check_range

__all__ = ["MastermindEnv", "MastermindOracle"]


def _rules(code_length: int, num_numbers: int, max_turns: int, repeats: str, example: str) -> str:
    return f"""\
You are playing Mastermind.
I have chosen a secret code of {code_length} numbers, each from 1 to {num_numbers}. {repeats} You \
have {max_turns} turns to find it.
After each guess I tell you two counts. Black pegs: numbers of your guess that are in the right \
place. White pegs: further numbers of your guess that are in the code, but in another place; each \
number of the code counts for one number of the guess only.
Write your guess inside \\boxed{{}} as {code_length} numbers with spaces between them, for example \
\\boxed{{{example}}}. A guess may repeat numbers, but the same guess counts once only. You may \
reason before it; if there are several boxes, the last one counts. A reply without a valid box \
ends the game.
The history of your guesses will follow here, so use every hint.
Make your first guess."""


_REPEATS = {True: "A number may occur more than once.", False: "No number occurs twice."}

_LEVELS = [(2, 4, 10), (4, 6, 20), (4, 8, 30)]
"""The code lengths, numbers and turns that are drawn if None is given."""

_Code = tuple[int, ...]
_Hints = dict[_Code, tuple[int, int]]
"""The black and white pegs of each guess."""
_HINT = re.compile(r"guessed \[([\d, ]+)\]\. Black pegs: (\d+)\. White pegs: (\d+)\.")
_SAMPLE = 30
_STEPS = 20_000


class MastermindEnv(Game):
    """Find a secret code.

    A guess with more black pegs than every earlier guess earns ``additional pegs / code length``,
    so the rewards of a won game add up to 1.0. Every other guess earns 0.0.

    Args:
        code_length: The length of the code, 1 to 10, and at most ``num_numbers`` unless numbers may
            repeat. None draws 2 or 4 in each episode (or fewer if there are fewer numbers).
        num_numbers: The largest number, 2 to 20. None draws 4, 6 or 8 together with the code length
            (or more if the code is longer).
        duplicate_numbers: Whether a number may occur more than once in the code.
        max_turns: The number of guesses, 1 to 1,000. None draws 10, 20 or 30 together with the code
            length (at least ``2 * code_length + num_numbers``).
    """

    pattern = boxed(rf"({DIGITS}(?:\s+{DIGITS})*)")
    action_format = "\\boxed{numbers with spaces between them}"

    def __init__(
        self,
        *,
        code_length: int | None = 4,
        num_numbers: int | None = 6,
        duplicate_numbers: bool = False,
        max_turns: int | None = 20,
    ) -> None:
        check_range("code_length", code_length, 1, 10)
        check_range("num_numbers", num_numbers, 2, 20)
        check_range("max_turns", max_turns, 1, 1000)
        if not isinstance(duplicate_numbers, bool):
            raise ConfigError(
                f"duplicate_numbers must be True or False; got {duplicate_numbers!r}."
            )
        if not duplicate_numbers and (code_length or 1) > (num_numbers or 20):
            raise ConfigError(
                f"{num_numbers} numbers are too few for a code of {code_length} without "
                f"duplicates. Set duplicate_numbers=True, or a larger num_numbers."
            )
        self.duplicate_numbers = duplicate_numbers
        self._parameters = (code_length, num_numbers, max_turns)

    def start(self) -> tuple[Observation, Info]:
        code_length, num_numbers, max_turns = self._parameters
        usual_length, usual_numbers, usual_turns = self.rng.choice(_LEVELS)
        self.code_length = code_length or min(usual_length, num_numbers or usual_length)
        self.num_numbers = num_numbers or max(usual_numbers, self.code_length)
        self.max_turns = max_turns or max(usual_turns, 2 * self.code_length + self.num_numbers)
        self.game_code = self._draw_code(self.rng)
        self.previous_guesses: set[tuple[int, ...]] = set()
        self.milestone = 0
        repeats, example = _REPEATS[self.duplicate_numbers], " ".join(map(str, self._example()))
        return self.opening(
            _rules(self.code_length, self.num_numbers, self.max_turns, repeats, example)
        )

    def _draw_code(self, rng: random.Random) -> list[int]:
        numbers = range(1, self.num_numbers + 1)
        if self.duplicate_numbers:
            return rng.choices(numbers, k=self.code_length)
        return rng.sample(numbers, self.code_length)

    def _example(self) -> list[int]:
        # The example is a random code except the secret: it reveals no more than a guess.
        example = self.game_code
        while example == self.game_code:
            example = self._draw_code(self.rng)
        return example

    @property
    def solution_text(self) -> str:
        return " ".join(map(str, self.game_code))

    def play(self, match: re.Match[str]) -> Outcome:
        turn, length = self.turn_count, self.code_length
        numbers = match[1].split()
        if len(numbers) != length:
            return f"Turn {turn}: a guess has {length} numbers, not {len(numbers)}.", 0.0, False
        guess = [int(digits) for digits in numbers]
        if min(guess) < 1 or max(guess) > self.num_numbers:
            return f"Turn {turn}: the numbers must be from 1 to {self.num_numbers}.", 0.0, False
        key = tuple(guess)
        if key in self.previous_guesses:
            return f"Turn {turn}: you guessed {guess} before.", 0.0, False
        self.previous_guesses.add(key)
        black, white = self.evaluate(guess)
        reward = self.reward_of(black)
        if black == length:
            return f"Turn {turn}: {guess} is the secret code. You win!", reward, True
        pegs = f"Black pegs: {black}. White pegs: {white}."
        return f"Turn {turn}: you guessed {guess}. {pegs}", reward, False

    def evaluate(self, guess: Sequence[int]) -> tuple[int, int]:
        """Return the numbers of black and white pegs."""
        return _pegs(guess, self.game_code)

    def reward_of(self, black: int) -> float:
        """Return the reward of a guess with these black pegs, and keep the largest number."""
        reward = max(0, black - self.milestone) / self.code_length
        self.milestone = max(self.milestone, black)
        return reward

    def render(self) -> str:
        return "Your next guess:"

    def sample_random_action(self) -> Action:
        return f"\\boxed{{{' '.join(map(str, self._draw_code(self.action_rng)))}}}"


def _pegs(guess: Sequence[int], code: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of black and white pegs."""
    left, common = list(code), 0
    for number in guess:
        if number in left:
            left.remove(number)
            common += 1
    black = sum(map(operator.eq, guess, code))
    return black, common - black


class _Task(NamedTuple):
    """The length of a code, the largest number, and whether numbers may repeat."""

    length: int
    numbers: int
    repeats: bool


class MastermindOracle(BaseAgent):
    """An agent that guesses the code that best separates the codes consistent with all hints.

    It compares a sample of these codes, found in a limited number of search steps. A guess takes 1
    to 2 ms at the registered levels, and 20 to 50 ms for the longest codes.
    """

    def reset(self, env: Env) -> None:
        self._rng = random.Random(0)
        self._task: _Task | None = None
        self._hints: _Hints = {}

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        if self._task is None:
            self._task = _read_task(text)
        for guess, black, white in _HINT.findall(text):
            self._hints[tuple(map(int, guess.split(", ")))] = int(black), int(white)
        return f"\\boxed{{{' '.join(map(str, self._choose(self._task)))}}}"

    def _choose(self, task: _Task) -> _Code:
        search = _Search(task, self._hints, self._rng)
        codes: set[_Code] = set()
        for _ in range(_SAMPLE if self._hints else 1):
            code = search.find()
            if code is None:
                break
            codes.add(code)
        if not codes:
            return search.best_effort()
        # A smaller sum of squares means that a hint leaves fewer codes on average.
        return min(sorted(codes), key=lambda guess: _sum_of_squares(guess, codes))


def _read_task(text: str) -> _Task:
    task = re.search(r"code of (\d+) numbers, each from 1 to (\d+)\. (.+?\.)", text)
    if task is None:
        raise ValueError("MastermindOracle needs an observation with the rules first.")
    return _Task(int(task[1]), int(task[2]), task[3] == _REPEATS[True])


def _sum_of_squares(guess: _Code, codes: set[_Code]) -> int:
    return sum(size * size for size in Counter(_pegs(guess, code) for code in codes).values())


class _Search:
    """A search for random codes consistent with all hints, limited to ``_STEPS`` steps."""

    def __init__(self, task: _Task, hints: _Hints, rng: random.Random) -> None:
        self._length, self._repeats = task.length, task.repeats
        self._numbers = range(1, task.numbers + 1)
        self._rng = rng
        self._steps = _STEPS
        self._deepest: _Code = ()
        self._guesses = [(g, [g.count(n) for n in range(task.numbers + 1)]) for g in hints]
        # The remaining black pegs, and pegs of either colour, that the rest of a code must add.
        self._wanted = [(black, black + white) for black, white in hints.values()]

    def find(self) -> _Code | None:
        """Return a code, or None if there is none or the steps are used up."""
        numbers = self._numbers
        self._orders = [self._rng.sample(numbers, len(numbers)) for _ in range(self._length)]
        return self._extend((), self._wanted)

    def best_effort(self) -> _Code:
        """Return a code that agrees with the hints as far as the search has got."""
        missing = self._length - len(self._deepest)
        if self._repeats:
            return (*self._deepest, *self._rng.choices(self._numbers, k=missing))
        rest = [number for number in self._numbers if number not in self._deepest]
        return (*self._deepest, *self._rng.sample(rest, missing))

    def _extend(self, code: _Code, wanted: list[tuple[int, int]]) -> _Code | None:
        if len(code) == self._length:
            return code
        for number in self._orders[len(code)]:
            if not self._repeats and number in code:
                continue
            self._steps -= 1
            if self._steps < 0:
                return None
            left = self._wanted_after(code, number, wanted)
            if left is not None:
                longer = (*code, number)
                if len(longer) > len(self._deepest):
                    self._deepest = longer
                found = self._extend(longer, left)
                if found is not None:
                    return found
        return None

    def _wanted_after(
        self, code: _Code, number: int, wanted: list[tuple[int, int]]
    ) -> list[tuple[int, int]] | None:
        """Return the remaining pegs after adding a number, or None if no code can have them."""
        place, used = len(code), code.count(number)
        room = self._length - place - 1
        left = []
        for (guess, counts), (black, pegs) in zip(self._guesses, wanted, strict=True):
            black_left = black - (guess[place] == number)
            pegs_left = pegs - (counts[number] > used)
            if not (0 <= black_left <= room and 0 <= pegs_left <= room):
                return None
            left.append((black_left, pegs_left))
        return left
