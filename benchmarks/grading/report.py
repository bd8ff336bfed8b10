"""Counts verdicts on labelled pairs, and writes tables."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from common.output import table

__all__ = ["Pair", "Result", "Verdict", "parts_of", "raw_of"]

_HEADINGS = (
    "",
    "accuracy",
    "false positives",
    "false negatives",
    "no verdict",
    "median, ms",
    "slowest, s",
)
_READING = (
    "A false positive is a wrong answer that was accepted, a false negative a right one that was "
    "not. Without a verdict (too slow, an exception, a crash) the answer counts as not equal. A "
    "cell of the categories: false positives + false negatives."
)
_LONGEST = 60


@dataclass(frozen=True)
class Pair:
    """An answer, a gold answer, and whether they are equal.

    Args:
        answer: What a model put in its box.
        gold: The gold answer, as a dataset has it.
        equal: The label.
        category: What the pair is about.
    """

    answer: str
    gold: str
    equal: bool
    category: str


@dataclass(frozen=True)
class Verdict:
    """The verdict of a grader, or why there is none as text, and the seconds it took."""

    said: bool | str
    seconds: float


@dataclass(frozen=True)
class Result:
    """A grader and its verdicts."""

    grader: str
    verdicts: Sequence[tuple[Pair, Verdict]]

    def of(self, category: str) -> "Result":
        """Return the verdicts of one category."""
        return Result(self.grader, [one for one in self.verdicts if one[0].category == category])

    @property
    def false_positives(self) -> list[Pair]:
        """Wrong answers that the grader accepted."""
        return [pair for pair, it in self.verdicts if it.said is True and not pair.equal]

    @property
    def false_negatives(self) -> list[Pair]:
        """Right answers that the grader did not accept."""
        return [pair for pair, it in self.verdicts if it.said is not True and pair.equal]

    @property
    def accuracy(self) -> float:
        """Share of the pairs whose verdict equals the label."""
        wrong = len(self.false_positives) + len(self.false_negatives)
        return 1 - wrong / max(1, len(self.verdicts))


def _cells(result: Result) -> list[str]:
    times = [verdict.seconds for _, verdict in result.verdicts]
    return [
        result.grader,
        f"{result.accuracy:.3f}",
        str(len(result.false_positives)),
        str(len(result.false_negatives)),
        str(sum(isinstance(verdict.said, str) for _, verdict in result.verdicts)),
        f"{1000 * statistics.median(times):.1f}",
        f"{max(times):.1f}",
    ]


def _category_lines(results: Sequence[Result]) -> list[list[str]]:
    names = dict.fromkeys(pair.category for pair, _ in results[0].verdicts)
    return [_category_line(name, [result.of(name) for result in results]) for name in names]


def _category_line(name: str, results: Sequence[Result]) -> list[str]:
    errors = [f"{len(one.false_positives)} + {len(one.false_negatives)}" for one in results]
    return [name, str(len(results[0].verdicts)), *errors]


def _category_headings(results: Sequence[Result]) -> list[str]:
    return ["category", "pairs", *(result.grader for result in results)]


def parts_of(results: Sequence[Result]) -> list[str]:
    """Return the tables, with every error at the end."""
    parts = [
        _READING,
        table(_HEADINGS, [_cells(result) for result in results]),
        "## By category",
        table(_category_headings(results), _category_lines(results)),
        "## Every error",
    ]
    for result in results:
        parts += _errors(f"{result.grader}: false positives", result.false_positives)
        parts += _errors(f"{result.grader}: false negatives", result.false_negatives)
    return parts


def _errors(title: str, pairs: Sequence[Pair]) -> list[str]:
    lines = [[pair.category, _code(pair.answer), _code(pair.gold)] for pair in pairs]
    headings = ["category", "answer", "gold"]
    return [f"### {title}", table(headings, lines, rule="---") if lines else "None."]


def _code(text: str) -> str:
    """Return a text as code in a table's cell, cut where it is long."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
    shown = "".join(char if char.isprintable() else "␣" for char in shown)
    return f"`` {shown} ``".replace("|", "\\|") if shown.strip() else "(empty)"


def raw_of(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return every verdict as JSON values."""
    return [
        {"grader": result.grader, **asdict(pair), **asdict(verdict)}
        for result in results
        for pair, verdict in result.verdicts
    ]
