"""Verdicts on labelled pairs counted: for the terminal, as Markdown, and raw."""

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["Pair", "Result", "Verdict", "as_markdown", "as_raw", "print_tables"]

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
    "A false positive is a wrong answer that was taken as right, a false negative a right one that "
    "was not. Where there was no verdict (too slow, an exception, a crash) the answer counts as "
    "not equal. A cell of the categories: false positives + false negatives."
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
    """What a grader said, or, as text, why it said nothing; and after how many seconds."""

    said: bool | str
    seconds: float


@dataclass(frozen=True)
class Result:
    """A grader and its verdicts."""

    grader: str
    verdicts: Sequence[tuple[Pair, Verdict]]

    def of(self, category: str) -> "Result":
        """Return the part that is of one category."""
        return Result(self.grader, [one for one in self.verdicts if one[0].category == category])

    @property
    def false_positives(self) -> list[Pair]:
        """What was taken as right and is not."""
        return [pair for pair, it in self.verdicts if it.said is True and not pair.equal]

    @property
    def false_negatives(self) -> list[Pair]:
        """What is right and was not taken so."""
        return [pair for pair, it in self.verdicts if it.said is not True and pair.equal]

    @property
    def accuracy(self) -> float:
        """Share of the pairs whose verdict is the label."""
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


def print_tables(console: Console, results: Sequence[Result], note: str) -> None:
    """Print the totals, the categories, and how to read them."""
    _print(console, _HEADINGS, [_cells(result) for result in results])
    _print(console, _category_headings(results), _category_lines(results))
    console.print(f"\n{note}\n{_READING}", highlight=False)


def _print(console: Console, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    table = Table(*headings)
    for column in table.columns[1:]:
        column.justify = "right"
    for line in lines:
        table.add_row(*map(escape, line))
    console.print("", table)


def as_markdown(results: Sequence[Result], note: str) -> str:
    """Return everything as a document, every error in its appendix."""
    parts = [
        "# Graders of mathematical answers side by side",
        f"Written by `benchmarks/grading.py` on {time.strftime('%Y-%m-%d')}.",
        note,
        _READING,
        _table(_HEADINGS, [_cells(result) for result in results]),
        "## By category",
        _table(_category_headings(results), _category_lines(results)),
        "## Every error",
    ]
    for result in results:
        parts += _errors(f"{result.grader}: false positives", result.false_positives)
        parts += _errors(f"{result.grader}: false negatives", result.false_negatives)
    return "\n\n".join(parts) + "\n"


def _errors(title: str, pairs: Sequence[Pair]) -> list[str]:
    lines = [[pair.category, _code(pair.answer), _code(pair.gold)] for pair in pairs]
    headings = ["category", "answer", "gold"]
    return [f"### {title}", _table(headings, lines, rule="---") if lines else "None."]


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]], *, rule: str = "---:") -> str:
    rules = ["---", *[rule] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rules, *lines))


def _code(text: str) -> str:
    """Return a text as code in a table's cell, cut where it is long."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
    shown = "".join(char if char.isprintable() else "␣" for char in shown)
    return f"`` {shown} ``".replace("|", "\\|") if shown.strip() else "(empty)"


def as_raw(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return every verdict, as JSON takes it."""
    return [
        {"grader": result.grader, **asdict(pair), **asdict(verdict)}
        for result in results
        for pair, verdict in result.verdicts
    ]
