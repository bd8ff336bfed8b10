"""Prints figures as a table, as Markdown or as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from gem_core.console import Terminal
from gem_core.options import visible
from gem_eval.metrics import Row
from gem_eval.statistics import Estimate

__all__ = [
    "console_for",
    "csv_of",
    "markdown_of",
    "passes_of",
    "print_table",
    "share",
    "table_of",
    "times_of",
    "without_only_agent",
]

Cells = tuple[list[str], list[list[str]]]
"""Headings and rows."""
_NAMES = {
    *("agent", "environment", "first", "second", "tasks", "measure", "test", "differs in", ""),
    *("cause", "expected", "extracted", "reason"),
}
"""Headings of columns of text, which are aligned to the left."""
WIDTH = 500
_GAP = 2
_NARROWEST_NAME = 12
"""Names may be broken after this many characters; ids of environments are long."""


def console_for(*, stderr: bool = False) -> Console:
    """Return a console. If it is not a terminal, it is wide enough not to break lines of tables."""
    console = Terminal(stderr=stderr, highlight=False)
    return console if console.is_terminal else Terminal(stderr=stderr, highlight=False, width=WIDTH)


def share(value: float | None) -> str:
    """Return a share as a percentage."""
    return "-" if value is None else f"{value:.1%}"


def _estimate(estimate: Estimate | None, form: str) -> str:
    if estimate is None:
        return "-"
    value = format(estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return value
    low, high = format(estimate.low, form).rstrip("%"), format(estimate.high, form).rstrip("%")
    return f"{value} [{low}, {high}]"


def table_of(rows: Sequence[Row]) -> Cells:
    """Return headings and cells, without the optional columns that are empty in all rows."""
    headings = ["agent", "environment", "episodes", "return", "success"]
    headings += [
        "rewards",
        "turns",
        "tokens",
        "cost",
        "tool calls",
        "tools ok",
        "format errors",
        "cut",
    ]
    headings.append("errors")
    cells = [_cells(row) for row in rows]
    kept = [
        column
        for column in range(len(headings))
        if column < 5 or any(line[column] != "" for line in cells)
    ]
    return [headings[c] for c in kept], [[line[c] for c in kept] for line in cells]


def _cells(row: Row) -> list[str]:
    figures = row.figures
    count = f"{figures.episodes}"
    if figures.tasks < figures.episodes:
        count += f" of {figures.tasks} tasks"
    tokens = None
    if figures.prompt_tokens is not None or figures.completion_tokens is not None:
        tokens = f"{figures.prompt_tokens or 0:,.0f} + {figures.completion_tokens or 0:,.0f}"
    errors = ", ".join(f"{where} {number}" for where, number in figures.errors.items())
    failed = sum(figures.errors.values())
    all_failed = failed == figures.episodes
    late = f" ({figures.stragglers} by deadline)" if figures.stragglers else ""
    return [
        row.agent,
        row.name,
        count,
        "-" if all_failed else _estimate(figures.mean_return, ".3f"),
        f"{failed} failed" if all_failed else _estimate(figures.success, ".1%"),
        ", ".join(f"{name} {value:.3f}" for name, value in figures.rewards.items()),
        f"{figures.turns:.1f}",
        tokens or "",
        "" if figures.cost is None else f"{figures.cost:.4g}",
        f"{figures.tool_calls:.1f}" if figures.tool_calls else "",
        "" if figures.tool_success is None else share(figures.tool_success),
        share(figures.format_errors) if figures.format_errors else "",
        share(figures.cut_replies) if figures.cut_replies else "",
        errors + late,
    ]


def passes_of(rows: Sequence[Row]) -> Cells:
    """Return headings and cells of pass@k and pass^k; no rows if each task has one episode."""
    ks = sorted({k for row in rows for k in row.figures.pass_at if k > 1})
    headings = ["agent", "environment"]
    headings += [name for k in ks for name in (f"pass@{k}", f"pass^{k}")]
    return headings, [
        [row.agent, row.name]
        + [
            _estimate(found.get(k), ".1%")
            for k in ks
            for found in (row.figures.pass_at, row.figures.pass_all)
        ]
        for row in rows
        if ks
    ]


def print_table(console: Console, cells: Cells) -> None:
    """Print headings and cells, with columns of figures aligned to the right.

    No figure is broken. Where the console is too narrow for that, a row is a block of lines, one
    for each column.
    """
    headings, lines = cells
    widths = _widths(console.width, headings, lines)
    if not widths:
        _print_blocks(console, headings, lines)
        return
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for heading, width in zip(headings, widths, strict=True):
        justify: Any = "left" if heading in _NAMES else "right"
        table.add_column(heading, justify=justify, overflow="fold", width=width)
    for line in lines:
        table.add_row(*line)
    console.print(table)


def _widths(most: int, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column; none if figures or words of headings would be broken."""
    columns = list(zip(headings, *lines, strict=True))
    full = [max(map(cell_len, column)) for column in columns]
    widths = [
        min(width, _NARROWEST_NAME)
        if column[0] in _NAMES
        else max(cell_len(word) for cell in column for word in cell.split() or [""])
        for column, width in zip(columns, full, strict=True)
    ]
    room = most - sum(widths) - _GAP * (len(widths) - 1)
    if room < 0:
        return []
    for at in sorted(range(len(widths)), key=lambda at: headings[at] in _NAMES):  # figures first
        more = min(room, full[at] - widths[at])
        widths[at] += more
        room -= more
    return widths


def _print_blocks(
    console: Console, headings: Sequence[str], lines: Sequence[Sequence[str]]
) -> None:
    for number, line in enumerate(lines):
        block = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=False)
        block.add_column(style="dim", no_wrap=True)
        block.add_column(overflow="fold")
        for heading, cell in zip(headings, line, strict=True):
            if cell:
                block.add_row(heading, cell)
        console.print(*[""] * bool(number), block, sep="\n")


def without_only_agent(cells: Cells) -> Cells:
    """Return the cells without the agent's column if there is only one agent."""
    headings, lines = cells
    if len({line[0] for line in lines}) > 1:
        return cells
    return headings[1:], [line[1:] for line in lines]


def times_of(rows: Iterable[Row]) -> list[str]:
    """Return a line for each agent with the mean time of an episode and its parts."""
    lines = []
    widest: dict[str, Row] = {}
    for row in rows:
        if row.scope in ("env", "pooled"):
            widest[row.agent] = row
    for agent, row in widest.items():
        total = sum(row.figures.seconds.values())
        parts = [
            f"{name} {value / total:.0%}" for name, value in row.figures.seconds.items() if value
        ]
        size = f"{total:.3g} s" if total >= 1 else f"{total * 1000:.3g} ms"
        lines.append(f"{agent}: {size} per episode ({', '.join(parts)})")
    return lines


def markdown_of(cells: Cells) -> str:
    """Return headings and cells as a table in Markdown."""
    headings, lines = cells
    rows = [headings, ["---"] * len(headings), *lines]
    shown = ("| " + " | ".join(c.replace("|", r"\|") for c in row) + " |" for row in rows)
    return visible("\n".join(" ".join(line.splitlines()) for line in shown))


def csv_of(rows: Iterable[Row]) -> str:
    """Return all figures as CSV, a line per row. Names of nested figures contain dots."""
    flat = [_flat(row.to_dict()) for row in rows]
    names = list(dict.fromkeys(name for one in flat for name in one))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue().rstrip("\n")


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, item in value.items():
        flat |= _flat(item, f"{prefix}{name}.") if isinstance(item, dict) else {prefix + name: item}
    return flat
