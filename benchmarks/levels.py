"""Compares the levels that gem-core and gem-llm 0.1.0 make: how many differ, and how hard they are.

Both sides make levels from the same seeds; the same code examines them, that of ``difficulty.py``.
"""

import argparse
import fnmatch
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare import Bench
from difficulty import Level, count_solutions, shortest_puzzle, shortest_sokoban
from peer import PeerError, find_or_install
from rich.console import Console
from rich.progress import Progress
from schema import SIDES

_HERE = Path(__file__).resolve().parent
_NAMES = dict(zip(SIDES, ("gem-core", "gem-llm"), strict=True))
_READING = (
    "Levels come from the seeds 0, 1, 2, ...: {effort.count:,} of them, or as many as are made in "
    "{effort.seconds:g} s. The first {effort.examined} are examined. Shortest solutions are exact; "
    "levels are impossible if provably nothing solves them, and not solved if the search gave up "
    "after 200,000 positions; both count as longest (∞). Beyond the limit: the shortest solution "
    "takes more moves than the game has turns, or there is none; what was not solved is left out. "
    "(gem-core's puzzles are walks of no more moves than the turns, so none of them is beyond.)"
)
_EXAMPLES = """\
examples:
  python benchmarks/levels.py                      everything, about 5 minutes
  python benchmarks/levels.py --quick              few levels of each game, about a minute
  python benchmarks/levels.py --ids 'game:Sokoban*'
"""
_SPREAD = ("min", "p10", "median", "p90", "max")
_SOLUTIONS = ("distinct", *_SPREAD, "impossible", "not solved", "beyond the limit")
_GRIDS = ("distinct", *_SPREAD, "one solution")
_TABLES = {"Moves of the shortest solution": _SOLUTIONS, "Given cells": _GRIDS}


@dataclass(frozen=True)
class Effort:
    """How much is done for each game and side.

    Args:
        count: Levels to make at most.
        seconds: Time for that.
        examined: Levels to examine.
    """

    count: int
    seconds: float
    examined: int


_FULL = Effort(count=1000, seconds=30.0, examined=150)
_QUICK = Effort(count=100, seconds=5.0, examined=20)


@dataclass(frozen=True)
class Result:
    """What is found of one level: a number, whose spread is shown, and what is counted."""

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


def main() -> None:
    """Run the comparison that the command line asks for."""
    options = _parse()
    try:
        peer_python = options.peer_python or str(find_or_install())
    except PeerError as error:
        sys.exit(str(error))
    effort = _QUICK if options.quick else _FULL
    pythons = dict(zip(SIDES, (sys.executable, peer_python), strict=True))
    bench = Bench(pythons, Path(os.devnull), timeout=effort.seconds + 120)
    tasks = [task for task in _TASKS if fnmatch.fnmatch(task.env_id, options.ids)]
    text = _document(tasks, _rows(bench, tasks, effort), effort, bench)
    options.output.mkdir(parents=True, exist_ok=True)
    name = "levels-quick.md" if options.quick else "levels.md"
    (options.output / name).write_text(text)
    print(text)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="few levels of each game")
    parser.add_argument("--ids", default="*", metavar="PATTERN", help="only these games")
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        default=os.environ.get("GEM_LLM_PYTHON"),
        help="interpreter that has gem-llm 0.1.0; default: $GEM_LLM_PYTHON, else it is installed",
    )
    parser.add_argument("--output", type=Path, default=_HERE / "results", metavar="FOLDER")
    return parser.parse_args()


def _rows(bench: Bench, tasks: Sequence[Task], effort: Effort) -> dict[tuple[str, str], list[str]]:
    """Return the cells of each table row, by id and side."""
    rows: dict[tuple[str, str], list[str]] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=len(tasks) * len(SIDES) * effort.examined)
        for task in tasks:
            for number, side in enumerate(SIDES, start=len(rows)):
                progress.update(bar, description=f"{task.env_id}, {_NAMES[side]}")
                levels = _levels(bench, side, task, effort)
                found = []
                for level in levels[: effort.examined]:
                    found.append(task.examine(level))
                    progress.advance(bar)
                progress.update(bar, completed=(number + 1) * effort.examined)
                rows[task.env_id, side] = _cells(task, levels, found)
    return rows


def _levels(bench: Bench, side: str, task: Task, effort: Effort) -> list[Level]:
    arguments = {"env_id": task.env_id, "count": effort.count, "seconds": effort.seconds}
    try:
        levels: list[Level] = bench.run(side, "levels", arguments)["levels"]
    except RuntimeError as error:
        bench.errors["levels", task.env_id, side] = str(error)
        return []
    return levels


def _cells(task: Task, levels: Sequence[Level], found: Sequence[Result]) -> list[str]:
    if not levels:
        return ["-"] * len(task.headings)
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


def _document(
    tasks: Sequence[Task],
    rows: Mapping[tuple[str, str], Sequence[str]],
    effort: Effort,
    bench: Bench,
) -> str:
    parts = [
        "# Levels of gem-core and gem-llm side by side",
        f"Written by `benchmarks/levels.py` on {time.strftime('%Y-%m-%d')}.",
        _READING.format(effort=effort),
    ]
    parts += [
        f"{_NAMES[side]} makes no {env_id}: {error}."
        for (_, env_id, side), error in bench.errors.items()
    ]
    for title, headings in _TABLES.items():
        lines = [
            [task.env_id, _NAMES[side], *rows[task.env_id, side]]
            for task in tasks
            if task.headings is headings
            for side in SIDES
        ]
        table = [[title, "", *headings], ["---", "---", *["---:"] * len(headings)], *lines]
        if lines:
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in table))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
