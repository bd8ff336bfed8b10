"""From raw rounds to tables: medians, ratios, targets; for the terminal and as Markdown."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from schema import SIDES, Case, Figure, Group, Trend

__all__ = ["Results", "Row", "as_markdown", "print_tables", "rows_of", "verdict"]

Results = Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]
"""Of one group: by title of the case, by side, the figures of each round."""

_HEADINGS = ("", "gem-core", "gem-llm", "ratio", "target", "reached")


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Args:
        section: Title of the table: the figure.
        title: Title of the case or trend.
        ours: Median of gem-core, None if it was not measured.
        peer: Median of gem-llm, None if it was not measured.
        ratio: Median of the rounds' ratios; above 1 is better for gem-core.
        target: The target in words, or "".
        reached: None without target.
    """

    section: str
    title: str
    ours: float | None
    peer: float | None
    ratio: float | None = None
    target: str = ""
    reached: bool | None = None


def rows_of(group: Group, results: Results) -> list[Row]:
    """Return the rows of a group; cases of which nothing is known are left out."""
    known = [case for case in group.cases if any(results.get(case.title, {}).values())]
    rows: list[Row] = []
    for figure in group.figures:
        cases = [_figure_row(case, figure, results[case.title]) for case in known]
        rows += cases
        if figure.mean_target is not None:
            rows.append(_mean_row(figure, [row.ratio for row in cases if row.ratio]))
    return rows + [_trend_row(trend, results) for trend in group.trends]


def _mean_row(figure: Figure, ratios: Sequence[float]) -> Row:
    mean = statistics.geometric_mean(ratios) if ratios else None
    goal = figure.mean_target or 0.0
    reached = _reaches(mean, at_least=goal)
    return Row(figure.title, "geometric mean", None, None, mean, f"{goal:g}x", reached)


def _figure_row(case: Case, figure: Figure, sides: Mapping[str, Sequence[Any]]) -> Row:
    ours, peer = ([one[figure.name] for one in sides[side]] for side in SIDES)
    middle = _median(ours), _median(peer)
    if figure.own_target is not None:
        target = f"≥ {figure.own_target:g}"
        reached = _reaches(middle[0], at_least=figure.own_target)
        return Row(figure.title, case.title, *middle, None, target, reached)
    if figure.own_most is not None:
        target = f"≤ {figure.own_most:g}"
        reached = _reaches(middle[0], at_most=figure.own_most)
        return Row(figure.title, case.title, *middle, None, target, reached)
    if figure.reference:
        return Row(figure.title, case.title, *middle)
    above, below = (peer, ours) if figure.lower_is_better else (ours, peer)
    ratio = _median([a / b for a, b in zip(above, below, strict=False) if b])
    goal = case.targets.get(figure.name, figure.target)
    if goal is None or (ours and not peer):  # without the peer there is nothing to reach
        return Row(figure.title, case.title, *middle, ratio)
    reached = _reaches(ratio, at_least=goal)
    return Row(figure.title, case.title, *middle, ratio, f"{goal:g}x", reached)


def _trend_row(trend: Trend, results: Results) -> Row:
    ours, peer = (_median(_quotients(trend, results, side)) for side in SIDES)
    if trend.at_least is not None:
        reached = _reaches(ours, at_least=trend.at_least)
        return Row("trend", trend.title, ours, peer, None, f"≥ {trend.at_least:g}", reached)
    if trend.at_most is not None:
        reached = ours is not None and ours <= trend.at_most
        return Row("trend", trend.title, ours, peer, None, f"≤ {trend.at_most:g}", reached)
    return Row("trend", trend.title, ours, peer)


def _reaches(
    value: float | None, *, at_least: float = -math.inf, at_most: float = math.inf
) -> bool:
    return value is not None and at_least <= value <= at_most


def _quotients(trend: Trend, results: Results, side: str) -> list[float]:
    of, against = (results.get(title, {}).get(side, ()) for title in (trend.of, trend.against))
    return [a[trend.figure] / b[trend.figure] for a, b in zip(of, against, strict=False)]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def verdict(rows: Sequence[Row]) -> str:
    """Return one sentence on the targets, with the ones that were missed."""
    judged = [row for row in rows if row.reached is not None]
    missed = [f"{row.title} ({row.section})" for row in judged if not row.reached]
    text = f"{len(judged) - len(missed)} of {len(judged)} targets reached."
    return f"{text} Missed: {'; '.join(missed)}." if missed else text


def as_markdown(group: Group, rows: Sequence[Row]) -> str:
    """Return a group as a section of a Markdown document."""
    parts = [f"## {group.title}", group.about]
    for section, members in _sections(rows).items():
        lines = [
            _markdown_line((section, *_HEADINGS[1:])),
            "|---|---:|---:|---:|---:|---|",
            *(_markdown_line(_cells(row)) for row in members),
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def print_tables(console: Console, group: Group, rows: Sequence[Row]) -> None:
    """Print a group as one table, in which the figures are headings."""
    table = Table(*_HEADINGS, title=group.title, title_justify="left", caption=group.about)
    table.caption_justify = "left"
    for column in table.columns[1:5]:
        column.justify = "right"
    for section, members in _sections(rows).items():
        table.add_section()
        table.add_row(section, style="bold")
        for row in members:
            title, *cells = _cells(row)
            table.add_row(f"  {title}", *cells, style="red" if row.reached is False else None)
    console.print("", table)


def _sections(rows: Sequence[Row]) -> dict[str, list[Row]]:
    sections: dict[str, list[Row]] = {}
    for row in rows:
        sections.setdefault(row.section, []).append(row)
    return sections


def _cells(row: Row) -> tuple[str, ...]:
    reached = "" if row.reached is None else "yes" if row.reached else "NO"
    ratio = "" if row.ratio is None else f"{_number(row.ratio)}x"
    return row.title, _number(row.ours), _number(row.peer), ratio, row.target, reached


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    """Return three significant digits, without exponent."""
    if value is None:
        return "-"
    if value >= 100 or value == int(value):
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"
