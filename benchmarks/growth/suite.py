"""Measures how figures grow with the work, such as the time to register n ids.

Each measurement is a process of its own. A figure is the least of all rounds. The exit status is 1
if one grows faster than its row allows, or could not be measured.

Examples:
  python benchmarks/run.py growth
  python benchmarks/run.py growth registering_ids cold_make --rounds 5
"""

import argparse
import functools
import importlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from common.output import machine, not_measured, number, table, write
from common.processes import WORKER, in_rounds, run_json

__all__ = ["Row", "add_arguments", "run"]

MARGIN = 1.5
"""How many times as large as its growth allows a figure may be."""
_TIMEOUT = 600.0


@dataclass
class Row:
    """A figure at several sizes.

    Args:
        title: What it is, with its unit.
        sizes: The sizes, the smallest first.
        growth: The power of the size with which the figure may grow.
        rounds: What was measured at each size.
    """

    title: str
    sizes: tuple[int, ...]
    growth: float
    rounds: dict[int, list[float]] = field(default_factory=dict)

    @property
    def figures(self) -> list[float]:
        """The figure at each size that was measured."""
        return [min(self.rounds[size]) for size in self.sizes if size in self.rounds]

    @property
    def factors(self) -> list[float]:
        """Each figure but the first, as a multiple of the first."""
        first, *others = self.figures
        return [
            1.0 if one <= first else one / first if first > 0 else float("inf") for one in others
        ]

    @property
    def allowed(self) -> list[float]:
        """The largest factors that the growth allows."""
        return [MARGIN * (size / self.sizes[0]) ** self.growth for size in self.sizes[1:]]

    @property
    def is_too_fast(self) -> bool:
        """Whether the figure grows faster than allowed."""
        return any(one > most for one, most in zip(self.factors, self.allowed, strict=False))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    names = [name for name in names if name not in ("__init__", "suite")]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rows: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round, of the two smaller sizes")
    parser.set_defaults(known=names)


def run(options: argparse.Namespace) -> None:
    """Measure the rows in turn, round by round."""
    if unknown := sorted({*options.names} - {*options.known}):
        sys.exit(f"Unknown rows: {', '.join(unknown)}. There are: {', '.join(options.known)}.")
    rows = {name: _row(name) for name in options.names or options.known}

    def measure(name: str, size: int) -> None:
        command = [sys.executable, WORKER, "growth", name, str(size)]
        figure = run_json(command, os.environ, _TIMEOUT)
        rows[name].rounds.setdefault(size, []).append(figure)

    errors = in_rounds(
        1 if options.quick else options.rounds,
        lambda _: [
            (f"{name}, {size:,}", functools.partial(measure, name, size))
            for name, row in rows.items()
            for size in row.sizes[: 2 if options.quick else None]
        ],
    )
    too_fast = [name for name, row in rows.items() if row.rounds and row.is_too_fast]
    chosen = options.names if len(options.names) < 2 else ["some"]
    stem = "-".join(["growth", *["quick"] * options.quick, *chosen])
    rounds = {name: row.rounds for name, row in rows.items()}
    write(options.output, stem, "Growth", [*_parts(rows, too_fast), *not_measured(errors)], rounds)
    sys.exit(1 if too_fast or errors else 0)


def _row(name: str) -> Row:
    module = importlib.import_module(f"growth.{name}")
    title = f"{module.TITLE} ({module.UNIT})"
    return Row(title, module.SIZES, getattr(module, "GROWTH", 1))


def _parts(rows: dict[str, Row], too_fast: list[str]) -> list[str]:
    heading = (
        f"Figures at n, 4n and 16n, the least of all rounds, each of a process of its own, on "
        f"{machine()}. The factors compare with the figure at n; in brackets are the largest that "
        f"the growth allows: {MARGIN:g} times 4 and 16 to its power."
    )
    headings = ("", "n", "at n", "at 4n", "at 16n", "growth", "factor at 4n", "factor at 16n")
    cells = [[row.title, f"{row.sizes[0]:,}", *_cells(row)] for row in rows.values() if row.rounds]
    verdict = f"Too fast: {', '.join(too_fast)}." if too_fast else "None grows too fast."
    return [heading, table(headings, cells), verdict]


def _cells(row: Row) -> list[str]:
    names = {0.0: "flat", 1.0: "linear"}
    growth = names.get(row.growth, f"power {row.growth:g}")
    factors = [
        f"{number(one)} ({number(most)})"
        for one, most in zip(row.factors, row.allowed, strict=False)
    ]
    figures = [number(one) for one in row.figures]
    missing = ["-"] * (3 - len(figures))
    return [*figures, *missing, growth, *factors, *missing]
