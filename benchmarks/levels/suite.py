"""Compares the levels that gem-core and gem-llm 0.1.0 make: how many differ, and how hard they are.

Both sides make levels from the same seeds, and the same code examines them (``difficulty.py``).

Examples:
  python benchmarks/run.py levels                      everything, about 5 minutes
  python benchmarks/run.py levels --quick              few levels of each game, about a minute
  python benchmarks/run.py levels --ids 'game:Sokoban*'
"""

import argparse
import fnmatch
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from common.output import not_measured, table, write
from common.peers import add_peer_argument
from common.processes import in_rounds
from compare.schema import SIDES
from compare.suite import Bench, bench

from levels.difficulty import Level, count_solutions, shortest_puzzle, shortest_sokoban

__all__ = ["add_arguments", "run"]

_NAMES = dict(zip(SIDES, ("gem-core", "gem-llm"), strict=True))
_READING = (
    "Levels come from the seeds 0, 1, 2, ...: {effort.count:,} of them, or as many as are made in "
    "{effort.seconds:g} s. The first {effort.examined} are examined. Shortest solutions are exact. "
    "A level is impossible if it provably has no solution, and not solved if the search gave up "
    "after 200,000 positions; both count as longest (∞). Beyond the limit: the shortest solution "
    "takes more moves than the game has turns, or there is none; levels that were not solved are "
    "left out. (gem-core's puzzles are walks of no more moves than the turns, so none is beyond.)"
)
_SPREAD = ("min", "p10", "median", "p90", "max")
_SOLUTIONS = ("distinct", *_SPREAD, "impossible", "not solved", "beyond the limit")
_GRIDS = ("distinct", *_SPREAD, "one solution")
_TABLES = {"Moves of the shortest solution": _SOLUTIONS, "Given cells": _GRIDS}


@dataclass(frozen=True)
class Effort:
    """The work for each game and side.

    Args:
        count: Maximum number of levels to make.
        seconds: Maximum time to make them.
        examined: Levels to examine.
    """

    count: int
    seconds: float
    examined: int


_FULL = Effort(count=1000, seconds=30.0, examined=150)
_QUICK = Effort(count=100, seconds=5.0, examined=20)


@dataclass(frozen=True)
class Result:
    """The examination of a level: a number, whose spread is shown, and flags to count."""

    number: float
    flags: tuple[bool, ...]


@dataclass(frozen=True)
class Task:
    """A game whose levels are compared; ``headings`` name the columns of its table."""

    env_id: str
    examine: Callable[[Level], Result]
    headings: tuple[str, ...]


def _examine_sokoban(level: Level) -> Result:
    return _solution(shortest_sokoban(level), turns={6: 20, 8: 50}[len(level[0])])


def _examine_puzzle(level: Level) -> Result:
    return _solution(shortest_puzzle(level), turns={2: 10, 3: 20, 4: 50}[len(level[0])])


def _solution(moves: float | None, *, turns: int) -> Result:
    number = math.inf if moves is None else moves
    return Result(number, (moves == math.inf, moves is None, moves is not None and moves > turns))


def _examine_sudoku(level: Level) -> Result:
    (board,) = level
    given = sum(number > 0 for row in board for number in row)
    return Result(given, (count_solutions(board) == 1,))


_TASKS = [
    *(
        Task(f"game:{name}-v0-{difficulty}", examine, _SOLUTIONS)
        for name, examine in (("Sokoban", _examine_sokoban), ("FifteenPuzzle", _examine_puzzle))
        for difficulty in ("easy", "hard", "random")
    ),
    *(Task(f"game:Sudoku-v0-{name}", _examine_sudoku, _GRIDS) for name in ("easy", "hard")),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--quick", action="store_true", help="few levels of each game")
    parser.add_argument("--ids", default="*", metavar="PATTERN", help="only these games")
    add_peer_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Run the comparison."""
    effort = _QUICK if options.quick else _FULL
    tasks = [task for task in _TASKS if fnmatch.fnmatch(task.env_id, options.ids)]
    rows: dict[tuple[str, str], list[str]] = {}

    def examine(taking: Bench, task: Task, side: str) -> None:
        arguments = {"env_id": task.env_id, "count": effort.count, "seconds": effort.seconds}
        levels: list[Level] = taking.measure(side, "levels", arguments)["levels"]
        found = [task.examine(level) for level in levels[: effort.examined]]
        rows[task.env_id, side] = _cells(levels, found)

    with bench(options, timeout=effort.seconds + 120) as taking:
        errors = in_rounds(
            1,
            lambda _: [
                (f"{task.env_id}, {_NAMES[side]}", partial(examine, taking, task, side))
                for task in tasks
                for side in SIDES
            ],
        )
    tables = []
    for title, headings in _TABLES.items():
        lines = [
            [task.env_id, _NAMES[side], *rows.get((task.env_id, side), ["-"] * len(headings))]
            for task in tasks
            if task.headings is headings
            for side in SIDES
        ]
        if lines:
            tables.append(table([title, "", *headings], lines))
    write(
        options.output,
        "levels-quick" if options.quick else "levels",
        "Levels of gem-core and gem-llm side by side",
        [_READING.format(effort=effort), *not_measured(errors), *tables],
    )


def _cells(levels: Sequence[Level], found: Sequence[Result]) -> list[str]:
    distinct = f"{len({str(level) for level in levels}):,} of {len(levels):,}"
    numbers = sorted(result.number for result in found)
    last = len(numbers) - 1
    spread = [numbers[round(share * last)] for share in (0.0, 0.1, 0.5, 0.9, 1.0)]
    shares = [sum(flags) / len(found) for flags in zip(*(r.flags for r in found), strict=True)]
    return [
        distinct,
        *("∞" if number == math.inf else f"{number:g}" for number in spread),
        *(f"{share:.1%}" for share in shares),
    ]
