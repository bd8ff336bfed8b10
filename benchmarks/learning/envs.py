"""Two environments of the learning curves: a single turn, and a sum that a calculator solves."""

import re
import string
from typing import Any

from gem_core import (
    Action,
    BaseAgent,
    BaseEnv,
    Env,
    Info,
    Observation,
    Step,
    Wrapper,
    visible_text,
)

__all__ = [
    "FirstLine",
    "MultiplyEnv",
    "MultiplyOracle",
    "ReverseEnv",
    "ReverseOracle",
    "ShortTexts",
]

_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_RANGE = re.compile(r"from \d+ to \d+, both included\. You have \d+ turns")
_HINT = re.compile(r"guessed \d+(?: again)?\. The secret number is \w+")


def _graded(action: Action, answer: str) -> Step:
    found = _BOXED.search(action) if isinstance(action, str) else None
    if found is None:
        return Step("No box.", -0.1, True, False, {"correct": False, "format_error": True})
    correct = found[1].strip() == answer
    return Step(
        "Right." if correct else "Wrong.", float(correct), True, False, {"correct": correct}
    )


class ReverseEnv(BaseEnv):
    """Write letters backwards, in one turn. Rewards: 1.0 if right, else 0.0; -0.1 without a box.

    Args:
        length: Letters.
        letters: How many letters of the alphabet there are, 2 to 26.
    """

    def __init__(self, *, length: int = 4, letters: int = 8) -> None:
        self.length = length
        self.alphabet = string.ascii_lowercase[:letters]

    def start(self) -> tuple[Observation, Info]:
        self.letters = "".join(self.rng.choice(self.alphabet) for _ in range(self.length))
        return f"Write backwards in \\boxed{{}}: {' '.join(self.letters)}", {}

    def step(self, action: Action) -> Step:
        return _graded(action, " ".join(self.letters[::-1]))

    def sample_random_action(self) -> Action:
        letters = (self.action_rng.choice(self.alphabet) for _ in range(self.length))
        return f"\\boxed{{{' '.join(letters)}}}"


class ReverseOracle(BaseAgent):
    """Writes them backwards."""

    def act(self, observation: Observation, info: Info) -> Action:
        letters = visible_text(observation, info).rpartition(": ")[2].split()
        return f"\\boxed{{{' '.join(reversed(letters))}}}"


class MultiplyEnv(BaseEnv):
    """Multiply two numbers, in one answer. Rewards: 1.0 if right, else 0.0; -0.1 without a box.

    Args:
        digits: Digits of each number.
    """

    def __init__(self, *, digits: int = 2) -> None:
        self.low, self.high = 10 ** (digits - 1), 10**digits - 1

    def start(self) -> tuple[Observation, Info]:
        self.a, self.b = (self.rng.randint(self.low, self.high) for _ in range(2))
        return f"How much is {self.a}*{self.b}? Answer in \\boxed{{}}.", {}

    def step(self, action: Action) -> Step:
        return _graded(action, str(self.a * self.b))

    def sample_random_action(self) -> Action:
        return f"\\boxed{{{self.action_rng.randint(self.low**2, self.high**2)}}}"


class FirstLine(Wrapper):
    """Leaves out what follows the task's first line: the instructions of tools.

    They are 150 tokens that a model of this size learns nothing from, and two thirds of the work.
    """

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        return str(observation).partition("\n")[0], info


class ShortTexts(Wrapper):
    """Shortens the texts of GuessTheNumber: range and number of turns, then guesses and hints.

    The rest is the same in every episode, and most of the work of a model of this size.
    """

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        return _shortened(observation), _without_suffix(info)

    def after_step(self, action: Action, step: Step) -> Step:
        return step._replace(
            observation=_shortened(step.observation), info=_without_suffix(step.info)
        )


def _shortened(observation: Observation) -> Observation:
    found = _RANGE.search(str(observation)) or _HINT.search(str(observation))
    return found[0] if found else observation


def _without_suffix(info: Info) -> Info:
    return {name: value for name, value in info.items() if name != "suffix"}


class MultiplyOracle(BaseAgent):
    """Has Python multiply where there is the tool, and copies the result; else does it itself."""

    def reset(self, env: Env) -> None:
        layer: Any = env
        self._has_tool = False
        while layer is not layer.unwrapped:
            self._has_tool |= bool(getattr(layer, "tools", None))
            layer = layer.env
        self._sum = ""

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        asked = re.search(r"How much is (\d+)\*(\d+)", text)
        if asked is not None:
            self._sum = f"{asked[1]}*{asked[2]}"
        result = re.search(r"result:\s*(\d+)", text)
        if result is not None:
            return f"\\boxed{{{result[1]}}}"
        if self._has_tool:
            return f"<python>print({self._sum})</python>"
        first, second = map(int, self._sum.split("*"))
        return f"\\boxed{{{first * second}}}"
