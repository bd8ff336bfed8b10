"""The reward of a task as a weighted sum of named parts.

``rewards=`` of a ``TaskEnv`` lists the parts::

    rewards = [
        "correctness",
        {"id": "format", "weight": 0.1},
        {"id": "judge", "agent": {"id": "openai", "model": "NAME"}, "weight": 0.5},
        my_function,
    ]

or gives each a name: ``{"correctness": 1.0, "format": 0.1}``. Each part is a grader, and
``info["rewards"]`` has its value before it is weighted.
"""

import math
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.errors import ConfigError
from gem_tasks.grader import (
    Attempt,
    Grade,
    Grader,
    GraderPart,
    close_grader,
    counting_spent,
    grading,
    is_blocking,
    make_grader,
    named,
    sum_spent,
)

__all__ = ["Format", "Length", "RewardParts", "Rewards", "correctness"]

RewardParts = Sequence[GraderPart] | Mapping[str, float | GraderPart]
"""The parts of a reward: a list of graders, or a mapping from names to weights or graders. The
mapping of a grader may have a ``name`` and a ``weight`` besides its parameters."""


@dataclass(frozen=True)
class _Part:
    name: str
    grader: Grader
    weight: float


class Rewards:
    """A weighted sum of named parts.

    Args:
        parts: The parts; see ``RewardParts``. Without a weight, it is 1.

    Raises:
        ConfigError: There are no parts, two have the same name, or a weight is not a number.
        GemError: A grader cannot be made; see ``make_grader``.
    """

    def __init__(self, parts: RewardParts) -> None:
        entries = list(_entries(parts))
        if not entries:
            raise ConfigError("rewards is empty. Leave it out for the environment's own reward.")
        names = [name for name, _ in entries]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"Two parts of rewards are named {name!r}: give one a 'name'.")
        self._parts = [_part(name, entry) for name, entry in entries]
        self.blocking = any(is_blocking(part.grader) for part in self._parts)
        """Whether a part waits, and so should run in a thread."""

    def grading(self, attempt: Attempt) -> Generator[Any, Any, Grade]:
        """Grade an attempt that has the environment's own grade, as a generator for ``drive``.

        Raises:
            GraderError: A part gives no usable grade.
        """
        grades: dict[str, Grade] = {}
        own = Grade(0.0, correct=False) if attempt.grade is None else attempt.grade
        infos = [own.info]
        with counting_spent(infos):
            for part in self._parts:
                grades[part.name] = yield from grading(part.grader, attempt, part.name)
                infos.append(grades[part.name].info)
        reward = sum(part.weight * grades[part.name].reward for part in self._parts)
        info: dict[str, Any] = {"rewards": {name: one.reward for name, one in grades.items()}}
        details = {name: _without_spent(one.info) for name, one in grades.items()}
        if any(details.values()):
            info["reward_details"] = {name: one for name, one in details.items() if one}
        if spent := sum_spent(*infos):
            info["spent"] = spent
        return Grade(reward, own.correct, info)

    def close(self) -> None:
        """Release the resources of the parts; may be called twice."""
        for part in self._parts:
            close_grader(part.grader)


def _without_spent(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in info.items() if name != "spent"}


def _entries(parts: Any) -> Iterable[tuple[str, Any]]:
    """Yield the name and the definition of each part."""
    if isinstance(parts, Mapping) and "id" not in parts:
        for name, value in parts.items():
            yield str(name), _named_entry(str(name), value)
    elif isinstance(parts, Sequence) and not isinstance(parts, str):
        for part in parts:
            name = part.get("name") if isinstance(part, Mapping) else None
            yield str(name or named(part)), part
    else:
        raise ConfigError(
            f"rewards is a list of graders, or a mapping from names to weights; got {parts!r}."
        )


def _named_entry(name: str, value: Any) -> Any:
    """Return the grader of an entry ``name: value``; a weight is that of the grader ``name``."""
    if isinstance(value, int | float):
        return {"id": name, "weight": value}
    return {"id": name, **value} if isinstance(value, Mapping) else value


def _part(name: str, entry: Any) -> _Part:
    if not isinstance(entry, Mapping):
        return _Part(name, make_grader(entry), 1.0)
    kwargs = {key: value for key, value in entry.items() if key not in {"name", "weight"}}
    weight = entry.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        raise ConfigError(f"The weight of {name!r} in rewards must be a number; got {weight!r}.")
    return _Part(name, make_grader(kwargs), float(weight))


def correctness(attempt: Attempt) -> Grade:
    """Return the environment's own reward, which is paid without ``rewards``.

    Raises:
        ConfigError: It is not a part of ``rewards``.
    """
    if attempt.grade is None:
        raise ConfigError("'correctness' is a part of rewards=; as grader= it has nothing to say.")
    return Grade(attempt.grade.reward, attempt.grade.correct)


class Format:
    """1.0 if the response has the form of an answer, else 0.0.

    Args:
        pattern: A regular expression that the whole response must match, ``.`` matching line breaks
            too; None if it is enough that the environment can read an answer.

    Raises:
        ConfigError: The pattern is not a regular expression.
    """

    def __init__(self, *, pattern: str | None = None) -> None:
        try:
            self._pattern = None if pattern is None else re.compile(pattern, re.DOTALL)
        except (re.error, TypeError) as error:
            raise ConfigError(f"pattern= of format is not a regular expression: {error}.") from None

    def __call__(self, attempt: Attempt) -> float:
        """Return 1.0 or 0.0."""
        if self._pattern is not None:
            return float(self._pattern.fullmatch(attempt.response) is not None)
        own = {} if attempt.grade is None else attempt.grade.info
        return float(attempt.answer is not None and not own.get("format_error"))


class Length:
    """0.0 for a short response and -1.0 for a long one; between the two it falls linearly.

    This is the soft penalty of DAPO (Yu et al. 2025, equation 13), in characters.

    Args:
        free: The number of characters up to which it is 0.0.
        longest: The number of characters from which it is -1.0.

    Raises:
        ConfigError: ``0 <= free < longest`` does not hold.
    """

    def __init__(self, *, free: int, longest: int) -> None:
        if not 0 <= free < longest:
            raise ConfigError(f"length needs 0 <= free < longest; got {free!r} and {longest!r}.")
        self._free, self._longest = free, longest

    def __call__(self, attempt: Attempt) -> float:
        """Return a number in [-1, 0]."""
        over = (len(attempt.response) - self._free) / (self._longest - self._free)
        return min(0.0, max(-1.0, -over))
