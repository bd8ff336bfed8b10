"""Runs one script, written for gem-llm, with gem-compat and with gem-llm 0.1.0.

Each measurement is a separate process. A round takes all of them on both sides, one right after the
other, and the sides take turns at being first. gem-llm is installed once, into its own virtual
environment, and nothing is downloaded during a measurement.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from common.output import machine, not_measured, table, write
from common.peers import add_peer_argument, find_or_install, write_words
from common.processes import WORKER, in_rounds, offline, run_json

__all__ = ["add_arguments", "run"]

SIDES = ("gem-compat", "gem-llm")
_READING = (
    "Medians, and medians of the rounds' ratios; above 1 is better for gem-compat. Other load on "
    "the machine changes single figures by tens of percent."
)
_GAMES = (
    "GuessTheNumber-v0-hard",
    "Mastermind-v0-hard",
    "Wordle-v0-hard",
    "Minesweeper-v0-easy",
    "Game2048-v0-easy",
    "Sokoban-v0-easy",
)


@dataclass(frozen=True)
class Line:
    """A row of the table.

    Args:
        title: First column of its row.
        measure: Function of the script and its arguments.
        figure: Name of the figure.
        unit: Unit of the figure.
        lower_is_better: Whether less is better.
        ratio: Whether to show the ratio of the sides.
    """

    title: str
    measure: tuple[str, ...]
    figure: str = "per_second"
    unit: str = "/s"
    lower_is_better: bool = False
    ratio: bool = True


LINES = (
    Line("import and make a game, s", ("startup",), "seconds", "", lower_is_better=True),
    Line("modules that this imports", ("startup",), "modules", "", lower_is_better=True),
    *(Line(f"random play of game:{game}, steps", ("loop", f"game:{game}")) for game in _GAMES),
    Line("50 turns under concat_with_action, steps", ("history", "concat_with_action")),
    Line("50 turns under concat,episode_tracking, steps", ("history", "concat,episode_tracking")),
    Line("64 environments, one thread, steps", ("vector", "serial")),
    Line("64 environments, threads, steps", ("vector", "threads")),
    Line(
        "levels that a seed repeats in a vector, of 8",
        ("seeds", "game:Sokoban-v0-easy"),
        "alike",
        "",
        ratio=False,
    ),
    Line("Python tool, programs", ("tool", "print(sum(range(100)))")),
    Line("grading, the same text, answers", ("grading", "42~42")),
    Line("grading, an equal value, answers", ("grading", r"0.5~\frac{1}{2}")),
    Line("grading, a wrong answer, answers", ("grading", r"\frac{2}{3}~\frac{1}{2}")),
)


Results = dict[str, dict[str, list[dict[str, float]]]]
"""The figures of each round, by measurement and side."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one measurement")
    add_peer_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Run the comparison."""
    peer = options.peer_python or str(find_or_install())
    pythons = dict(zip(SIDES, (sys.executable, peer), strict=True))
    measures = list(dict.fromkeys(line.measure for line in LINES))
    results: Results = {" ".join(one): {side: [] for side in SIDES} for one in measures}
    with tempfile.TemporaryDirectory() as words:
        write_words(Path(words))
        environ = offline(Path(words))

        def take(measure: tuple[str, ...], side: str) -> None:
            command = [pythons[side], WORKER, "migration.script", *measure]
            found = run_json(command, environ, options.timeout)
            results[" ".join(measure)][side].append(found)

        def work(number: int) -> Iterator[tuple[str, Any]]:
            for measure in measures:
                for side in SIDES if number % 2 == 0 else SIDES[::-1]:
                    yield f"{side}, {' '.join(measure)}", partial(take, measure, side)

        errors = in_rounds(options.rounds, work)
    write(
        options.output,
        "migration",
        "The same script with gem-compat and with gem-llm 0.1.0",
        [
            f"{machine()}; {options.rounds} rounds. {_READING}",
            table(("", *SIDES, "ratio"), [_row(line, results) for line in LINES]),
            *not_measured(errors),
        ],
        results,
    )


def _row(line: Line, results: Results) -> tuple[str, str, str, str]:
    sides = results[" ".join(line.measure)]
    figures = [[one[line.figure] for one in sides[side]] for side in SIDES]
    shown = [f"{median(one):,.4g}{line.unit}" if one else "-" for one in figures]
    above, below = figures[::-1] if line.lower_is_better else figures
    ratios = [a / b for a, b in zip(above, below, strict=False) if b]
    ratio = f"{median(ratios):.3g}x" if ratios and line.ratio else ""
    return line.title, shown[0], shown[1], ratio
