"""Grades an answer against its references: text first, then meaning, then computer algebra."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gem_core.errors import DeadlineError, GemError
from gem_math.grading.clean import clean
from gem_math.grading.compare import same
from gem_math.grading.errors import UnreadableError, UnsupportedError
from gem_math.grading.nodes import Node, Text
from gem_math.grading.syntax import read
from gem_math.grading.wording import same_wording

__all__ = ["Verdict", "grade"]

DecidedBy = Literal["empty", "text", "value", "algebra", "deadline", "failure"]
LONGEST = 4000
"""Characters of the longest answer that is read; a longer one must be the reference itself."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What grading came to.

    Args:
        correct: Whether the answer is right.
        decided_by: What settled it: ``empty`` (there is no answer), ``text`` (the same, or other
            words), ``value`` (what it means), ``algebra`` (math-verify, in a worker), ``deadline``
            (the worker took too long: wrong), ``failure`` (the worker could not tell: wrong).
    """

    correct: bool
    decided_by: DecidedBy


def grade(answer: str, gold: str | Sequence[str], *, deadline: float = 1.0) -> Verdict:
    r"""Grade an answer, as it stands in its box.

    Right is what is mathematically equal and of the same kind. A reference without a unit accepts
    any; one with a unit demands it. An empty answer is wrong.

    Args:
        answer: The answer; if it holds a ``\boxed{}``, what is in that.
        gold: The reference, or several of which any will do.
        deadline: Seconds that computer algebra may take for each reference.

    Returns:
        The first verdict that is correct; otherwise that of the last reference.
    """
    verdict = Verdict(correct=False, decided_by="empty")
    for reference in [gold] if isinstance(gold, str) else gold:
        verdict = _grade_one(answer, reference, deadline)
        if verdict.correct:
            break
    return verdict


def _grade_one(answer: str, gold: str, deadline: float) -> Verdict:
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
    return _compare_meaning(*texts, deadline)


_cleaned_gold = lru_cache(maxsize=8192)(clean)


@lru_cache(maxsize=8192)
def _read(text: str) -> Node | None:
    """Return what a clean answer says; None if it is beyond this grammar but mathematics."""
    try:
        return read(text)
    except UnsupportedError:
        return None
    except (UnreadableError, RecursionError):
        return Text(" ".join(text.lower().split()))


def _compare_meaning(answer: str, gold: str, deadline: float) -> Verdict:
    nodes = _read(answer), _read(gold)
    verdict = None
    if nodes[0] is not None and nodes[1] is not None:
        verdict = same(nodes[0], nodes[1])
    elif any(isinstance(node, Text) for node in nodes):
        verdict = False
    if verdict is not None:
        return Verdict(correct=verdict, decided_by="value")
    return _compare_algebra(answer, gold, deadline)


def _compare_algebra(answer: str, gold: str, deadline: float) -> Verdict:
    from gem_workers import shared_pool  # noqa: PLC0415 - few answers need it

    module = "gem_math.grading.algebra"
    try:
        pool = shared_pool(preload=(module,), memory_mib=2048)
        correct = pool.call(f"{module}:equal", answer, gold, deadline=deadline)
    except DeadlineError:
        return Verdict(correct=False, decided_by="deadline")
    except GemError:
        return Verdict(correct=False, decided_by="failure")
    return Verdict(correct=bool(correct), decided_by="algebra")
