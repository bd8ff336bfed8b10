"""Compares gem-core with gem-llm 0.1.0 on this machine.

Each measurement is a separate process. A round takes every measurement on both sides, one right
after the other, and the sides take turns at being first. So the ratio of a round compares what ran
under the same load, and the tables show medians over the rounds. gem-llm is installed once, into
its own virtual environment, and nothing is downloaded during a measurement.

Examples:
  python benchmarks/run.py compare                        everything, about 35 minutes
  python benchmarks/run.py compare --quick                two short rounds, the easy games
  python benchmarks/run.py compare --only startup --only vector
  python benchmarks/run.py compare --only games --ids 'game:Sokoban*' --rounds 5
"""

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from common.output import machine, not_measured, number, table, write
from common.peers import add_peer_argument, find_or_install, write_words
from common.processes import WORKER, in_rounds, offline, run_json

from compare.cases import groups
from compare.schema import SIDES, Case, Figure, Group

__all__ = ["Bench", "add_arguments", "bench", "run"]

_GROUP_NAMES = [group.name for group in groups([], quick=True)]
_READING = (
    "Medians of values and of the rounds' ratios; a ratio above 1 is better for gem-core. Other "
    "load on the machine changes single figures by tens of percent, ratios by less."
)
_MEAN_OF = 10
"""Number of ratios from which a table ends with their geometric mean."""
Rounds = dict[str, dict[str, list[dict[str, float]]]]
"""The figures of each round, by title of the case and by side."""


class Bench:
    """Takes measurements in processes of both interpreters.

    Args:
        pythons: Interpreter of each side.
        words: Folder of the words for gem-llm.
        timeout: Seconds after which a measurement is given up.
    """

    def __init__(self, pythons: Mapping[str, str], words: Path, timeout: float) -> None:
        self._pythons = pythons
        self._timeout = timeout
        self._environ = offline(words)

    def measure(self, side: str, measure: str, arguments: Mapping[str, Any]) -> Any:
        """Return the result of a measurement.

        Raises:
            RuntimeError: It failed or took too long.
        """
        command = [self._pythons[side], WORKER, "compare.measuring", side, measure]
        command += [f"{name}={value}" for name, value in arguments.items()]
        return run_json(command, self._environ, self._timeout)


@contextmanager
def bench(options: argparse.Namespace, timeout: float) -> Iterator[Bench]:
    """Give a bench with gem-llm, which is installed if it is missing."""
    peer_python = options.peer_python or str(find_or_install())
    with tempfile.TemporaryDirectory() as words:
        write_words(Path(words))
        yield Bench(
            dict(zip(SIDES, (sys.executable, peer_python), strict=True)), Path(words), timeout
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    parser.add_argument("--quick", action="store_true", help="two short rounds, the easy games")
    parser.add_argument("--only", action="append", choices=_GROUP_NAMES, help="may be repeated")
    parser.add_argument("--ids", default="*", metavar="PATTERN", help="only these games")
    parser.add_argument("--rounds", type=int, help="default: 3, with --quick 2")
    parser.add_argument("--timeout", type=float, default=240, help="seconds for one measurement")
    parser.add_argument(
        "--own", action="store_true", help="measure gem-core alone; gem-llm is not needed"
    )
    add_peer_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Run the comparison."""
    rounds = options.rounds or (2 if options.quick else 3)
    if options.own:
        options.peer_python = sys.executable
    sides = SIDES[:1] if options.own else SIDES
    with bench(options, options.timeout) as taking:
        about = {side: taking.measure(side, "about", {}) for side in sides}
        chosen = _choose(options, about)
        results: dict[str, Rounds] = {group.name: {} for group in chosen}
        errors = in_rounds(rounds, _work(taking, chosen, results, sides))
    versions = ", ".join(
        f"{side.replace('_', '-')} {found['version']} on Python {found['python']}"
        for side, found in about.items()
    )
    notes = [f"{versions}; {machine()}; {rounds} rounds.", _READING, *not_measured(errors)]
    write(
        options.output,
        "-".join(["compare", *(["quick"] if options.quick else []), *(options.only or [])]),
        "gem-core and gem-llm side by side",
        [*notes, *(section(group, results[group.name]) for group in chosen)],
        {"notes": notes, "rounds": results},
    )


def _choose(options: argparse.Namespace, about: Mapping[str, Any]) -> list[Group]:
    common = set.intersection(*(set(one["ids"]) for one in about.values()))
    ids = [
        env_id
        for env_id in sorted(fnmatch.filter(common, options.ids))
        if env_id.endswith("-easy") or not options.quick
    ]
    found = groups(ids, quick=options.quick)
    return [group for group in found if not options.only or group.name in options.only]


def _work(
    taking: Bench, chosen: Sequence[Group], results: dict[str, Rounds], sides: Sequence[str]
) -> Callable[[int], Iterator[tuple[str, Callable[[], None]]]]:
    """Return a function that yields the measurements of a round."""

    def of_round(number: int) -> Iterator[tuple[str, Callable[[], None]]]:
        for group in chosen:
            if number and group.once:
                continue
            for case in group.cases:
                for side in sides if number % 2 == 0 else sides[::-1]:
                    take = partial(_take, taking, group, case, side, results[group.name])
                    yield f"{case.title} ({group.name}), {side}", take

    return of_round


def _take(taking: Bench, group: Group, case: Case, side: str, rounds: Rounds) -> None:
    own = case.ours if side == SIDES[0] else case.peer
    figures = rounds.setdefault(case.title, {side: [] for side in SIDES})
    figures[side].append(taking.measure(side, group.measure, {**case.arguments, **own}))


def section(group: Group, rounds: Rounds) -> str:
    """Return a group as a section of a Markdown document."""
    cases = [case for case in group.cases if any(rounds.get(case.title, {}).values())]
    parts = [f"## {group.title}", group.about]
    for figure in group.figures:
        rows, ratios = [], []
        for case in cases:
            row, ratio = _row(case, figure, rounds[case.title])
            rows.append(row)
            ratios += [ratio] if ratio else []
        if len(ratios) >= _MEAN_OF:
            rows.append(["geometric mean", "", "", f"{number(geometric_mean(ratios))}x"])
        parts.append(table((figure.title, "gem-core", "gem-llm", "ratio"), rows))
    return "\n\n".join(parts)


def _row(
    case: Case, figure: Figure, sides: Mapping[str, Sequence[Mapping[str, float]]]
) -> tuple[list[str], float | None]:
    ours, peer = ([one[figure.name] for one in sides[side]] for side in SIDES)
    above, below = (peer, ours) if figure.compare == "lower" else (ours, peer)
    ratios = [a / b for a, b in zip(above, below, strict=False) if b]
    ratio = median(ratios) if ratios and figure.compare else None
    values = [number(median(one) if one else None) for one in (ours, peer)]
    return [case.title, *values, f"{number(ratio)}x" if ratio else ""], ratio
