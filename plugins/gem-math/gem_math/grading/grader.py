"""Grades an answer against its references: text first, then meaning, then computer algebra."""

import re
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

__all__ = ["Verdict", "grade"]

DecidedBy = Literal["empty", "text", "value", "algebra", "deadline", "failure"]
LONGEST = 4000
"""Characters of the longest answer that is read; a longer one must be the reference word by word."""

_CHOICE = re.compile(r"(?:(?:option|choice|answer)\s+)*[(\[]?([A-Za-z])[)\].:]?", re.IGNORECASE)
_CHOICE_AND_MORE = re.compile(r"(?:\(([A-Z])\)|([A-Z])[).:])\s*(?![-+*/=^ ])\S.*", re.DOTALL)
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(?:([ap])\.?\s?m\.?)?", re.IGNORECASE)
_MONTHS = frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split())
_STYLED = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|bf)\s*\{([^{}]*)\}")
_FACTORS = frozenset("abcdkmnpqrstuvwxyz")
"""Letters that two of are rather a product than a word."""
_SYNONYMS = {
    "dne": "does not exist",
    "no solutions": "no solution",
    "none": "no solution",
    "no real solution": "no real solutions",
}


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
    by_text = _compare_text(*texts)
    if by_text is not None:
        return Verdict(correct=by_text, decided_by="text")
    return _compare_meaning(*texts, deadline)


_cleaned_gold = lru_cache(maxsize=8192)(clean)


def _compare_text(answer: str, gold: str) -> bool | None:
    """Return whether they are the same text or choice; None if it takes more than reading."""
    if answer == gold:
        return True
    plain = _STYLED.sub(r"\1", answer).strip(), _STYLED.sub(r"\1", gold).strip()
    times = [_TIME.fullmatch(text) for text in plain]
    if times[0] and times[1]:
        return _time(times[0]) == _time(times[1])
    dates = [_date(text) for text in plain]
    if dates[0] and dates[1]:
        return dates[0] == dates[1]
    choices = [_CHOICE.fullmatch(text) for text in plain]
    if choices[0] and choices[1]:
        return _same_letter(choices[0][1], choices[1][1], answer, gold)
    for choice, other in ((choices[1], plain[0]), (choices[0], plain[1])):
        more = _CHOICE_AND_MORE.fullmatch(other) if choice and choice[1].isupper() else None
        if choice and more:
            return (more[1] or more[2]) == choice[1]
    words = [_words(text) for text in plain]
    if words[0] and words[1]:
        return words[0] == words[1]
    return None


def _time(match: re.Match[str]) -> tuple[int, int, int, str]:
    hours, minutes, seconds, half = match.groups("")
    return int(hours), int(minutes), int(seconds or 0), half.lower()


def _date(text: str) -> tuple[str, ...]:
    """Return month, day and year of a date with the month in words, as far as given; else ()."""
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", text.lower()))
    months = [word[:3] for word in words if word[:3] in _MONTHS and len(word) > 2]
    numbers = sorted(word.lstrip("0") for word in words if word.isdigit())
    if len(months) != 1 or len(months) + len(numbers) != len(words) or not numbers:
        return ()
    return (months[0], *numbers)


def _same_letter(answer: str, gold: str, *written: str) -> bool:
    """Compare letters: a choice in either case, a variable in its own."""
    is_choice = gold in "ABCDEFGH" or any(len(text) > 1 for text in written)
    return answer == gold or (is_choice and answer.upper() == gold.upper())


def _words(text: str) -> str:
    """Return a text of nothing but words in one form, or ''; letters that multiply are none."""
    if not re.fullmatch(r"[^\W\d_](?:[^\W\d_]|[' .,!?\"-])*", text):
        return ""
    found = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text)
    if any(len(word) == 1 for word in found):
        return ""
    words = " ".join(found)
    if len(words) == 2 or (len(words) == 3 and set(words) <= set("xyzw")):
        return "" if set(words) <= _FACTORS else words
    return _SYNONYMS.get(words.casefold(), words.casefold())


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
    from gem_core.workers import shared_pool  # noqa: PLC0415 - few answers need it

    module = "gem_math.grading.algebra"
    try:
        pool = shared_pool(preload=(module,), memory_mib=2048)
        correct = pool.call(f"{module}:equal", answer, gold, deadline=deadline)
    except DeadlineError:
        return Verdict(correct=False, decided_by="deadline")
    except GemError:
        return Verdict(correct=False, decided_by="failure")
    return Verdict(correct=bool(correct), decided_by="algebra")
