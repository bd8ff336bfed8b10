"""Measures dialogues over a database: import, make, reset, the oracle's episode, digest, memory.

Each round of each environment is a process of its own. Times are of the CPU.

Examples:
  python benchmarks/run.py tau
  python benchmarks/run.py tau tau:Retail-Sample --rounds 9
"""

import argparse
import functools
import os
import sys
from statistics import median

from common.output import machine, not_measured, number, table, write
from common.processes import WORKER, in_rounds, run_json

__all__ = ["add_arguments", "run"]

_IDS = ("tau:Retail-Sample", "tau:Airline-Sample")
_TIMEOUT = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("ids", nargs="*", metavar="ID", default=_IDS, help="environments")
    parser.add_argument("--rounds", type=int, default=5)


def run(options: argparse.Namespace) -> None:
    """Measure the environments in turn, round by round."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in options.ids}

    def measure(name: str) -> None:
        command = [sys.executable, WORKER, "tau.measure", name]
        rounds[name].append(run_json(command, os.environ, _TIMEOUT))

    errors = in_rounds(
        options.rounds,
        lambda _: [(name, functools.partial(measure, name)) for name in options.ids],
    )
    found = {name: figures for name, figures in rounds.items() if figures}
    rows = [
        (what, *(number(median(one[what] for one in figures)) for figures in found.values()))
        for what in next(iter(found.values()), [{}])[0]
    ]
    heading = (
        f"Milliseconds of CPU, but for turns and KiB: the median of {options.rounds} rounds, on "
        f"{machine()}. An episode is one of the oracle with the scripted user, its reset and its "
        f"grading included. The memory is that of 1,000 episodes that live together and have "
        f"written to their databases, beyond the base that they share."
    )
    parts = [heading, table(("", *found), rows), *not_measured(errors)]
    write(options.output, "tau", "Dialogues", parts, rounds)
