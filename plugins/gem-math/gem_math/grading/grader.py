"""Grading of an answer: by text, then by meaning, then by computer algebra."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gem_math.grading.allowance import Allowance
from gem_math.grading.clean import clean
from gem_math.grading.compare import same
from gem_math.grading.errors import UnreadableError, UnsupportedError
from gem_math.grading.nodes import Node, Text, is_variable
from gem_math.grading.syntax import read
from gem_math.grading.tokens import top_level_sides
from gem_math.grading.wording import same_wording

__all__ = ["Verdict", "grade", "reason_of"]

DecidedBy = Literal["empty", "text", "value", "algebra", "deadline", "failure"]
_REASONS = {
    "empty": "the answer is empty",
    "value": "compared by value",
    "algebra": "compared by computer algebra",
    "deadline": "computer algebra took too long",
    "failure": "computer algebra could not compare them",
}
LONGEST = 4000
"""The maximum length of an answer in characters; a longer one must equal the reference text."""
_UNKNOWN = re.compile(r"(?<![A-Za-z\\])(?:[fghFGH]\s*\(|[A-Za-z]_\{?[a-z]\}?)")
r"""A function or sequence without a definition, as in ``\lim f(x)``, which names a value."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of grading.

    Args:
        correct: Whether the answer is correct.
        decided_by: The method that decided: ``empty`` (there is no answer), ``text`` (the wording),
            ``value`` (the meaning), ``algebra`` (math-verify, in a worker), ``deadline`` (the
            worker took too long: wrong) or ``failure`` (the worker could not decide: wrong).
    """

    correct: bool
    decided_by: DecidedBy

    @property
    def reason(self) -> str:
        """What decided, in words."""
        return reason_of(self.decided_by)


def reason_of(decided_by: str) -> str:
    """Return the name of a method in words: of one without an entry, that it compared."""
    return _REASONS.get(decided_by, f"compared by {decided_by}")


def grade(
    answer: str,
    gold: str | Sequence[str],
    *,
    deadline: float = 1.0,
    answer_deadline: float = 5.0,
) -> Verdict:
    r"""Grade the content of a box.

    An answer is correct if it is mathematically equal to a reference and of the same kind. A
    unit may be missing in either of them, and two units are converted. An empty answer is wrong.

    Args:
        answer: The answer; if it contains a ``\boxed{}``, the content of the last one counts.
        gold: The reference, or several alternatives.
        deadline: The processor time in seconds for computer algebra, for each reference.
        answer_deadline: The same for all references together; those that are left after it are
            compared without computer algebra.

    Returns:
        The first correct verdict, or else the verdict for the last reference.
    """
    verdict, whole = Verdict(correct=False, decided_by="empty"), Allowance(answer_deadline)
    for reference in [gold] if isinstance(gold, str) else gold:
        verdict = _grade_one(answer, reference, Allowance(deadline, whole))
        if verdict.correct:
            break
    return verdict


def _grade_one(answer: str, gold: str, time: Allowance) -> Verdict:
    if not answer.strip() or not gold.strip():
        return Verdict(correct=False, decided_by="empty")
    if answer.strip() == gold.strip():
        return Verdict(correct=True, decided_by="text")
    if len(answer) > LONGEST or len(gold) > LONGEST:
        return Verdict(correct=False, decided_by="text")
    texts = clean(answer), _cleaned_gold(gold)
    if not all(texts):
        return Verdict(correct=False, decided_by="empty")
    wording = same_wording(*texts)
    if wording is not None:
        return Verdict(correct=wording, decided_by="text")
    return _compare_meaning(*texts, time)


_cleaned_gold = lru_cache(maxsize=8192)(clean)


@lru_cache(maxsize=8192)
def _read(text: str) -> Node | None:
    """Return the meaning of a clean answer, or None if it is mathematics beyond this grammar."""
    try:
        return read(text)
    except UnsupportedError:
        return None
    except (UnreadableError, RecursionError):
        return Text(" ".join(text.lower().split()))


def _compare_meaning(answer: str, gold: str, time: Allowance) -> Verdict:
    nodes = _read(answer), _read(gold)
    verdict = None
    if nodes[0] is not None and nodes[1] is not None:
        verdict = same(nodes[0], nodes[1])
    elif any(isinstance(node, Text) for node in nodes):
        verdict = False
    if verdict is not None:
        return Verdict(correct=verdict, decided_by="value")
    sides = top_level_sides(answer)
    if len(sides) == 1 or len(top_level_sides(gold)) > 1:
        return _compare_algebra(answer, gold, time)
    return _compare_chain(sides, gold, time)


def _compare_chain(sides: Sequence[str], gold: str, time: Allowance) -> Verdict:
    """Compare a chain with a value: each side equals it, except a name at the start."""
    verdict = Verdict(correct=False, decided_by="failure")
    named = _read(sides[0])
    has_name = is_variable(named) if named is not None else bool(_UNKNOWN.search(sides[0]))
    for side in sides[1:] if has_name else sides:
        verdict = _compare_meaning(side, gold, time)
        if not verdict.correct:
            break
    return verdict


def _compare_algebra(answer: str, gold: str, time: Allowance) -> Verdict:
    correct, decided_by = time.compare("equal", answer, gold)
    return Verdict(correct, decided_by)
