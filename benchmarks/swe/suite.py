"""Measures tasks of software engineering: usable bugs, starts, gradings, forks.

Nothing else should run: the CPU time of gradings is that of the whole computer.

Examples:
  python benchmarks/run.py swe
  python benchmarks/run.py swe --mutants 50 --episodes 10
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from common.output import machine, number, table, write
from rich.progress import track

from gem_rollout.episodes.proportions import wilson
from gem_swe.bugs import UnusableError, bug_of, mutations_in
from gem_swe.env import SweEnv
from gem_swe.repository import REPOSITORIES, shipped

__all__ = ["add_arguments", "run"]

_BUGS = (
    "On {machine}. Bugs are drawn with seed {seed}, all with the same chance; the brackets have "
    "95 % intervals."
)
_EPISODES = (
    "The median of {count} episodes of the oracle in swe:Sample; seconds of wall time, but for "
    "CPU, which is that of the whole computer."
)
_TICKS = 100.0
"""Units of ``/proc/stat`` in a second."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--mutants", type=int, default=100, help="bugs to try of each repository")
    parser.add_argument("--episodes", type=int, default=30, help="episodes of swe:Sample")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> None:
    """Try bugs, and play episodes of the oracle."""
    usable = {name: _usable(name, options.mutants, options.seed) for name in REPOSITORIES}
    figures = _episodes(options.episodes)
    reasons = sorted({reason for counts in usable.values() for reason in counts if reason})
    rows = []
    for name, counts in usable.items():
        low, high = wilson(counts[""] / options.mutants, options.mutants)
        repository = shipped(name)
        rows.append(
            (
                name,
                str(repository.lines),
                str(len(repository.probed.probes)),
                str(len(mutations_in(repository))),
                f"{counts['']} of {options.mutants} [{low:.0%}, {high:.0%}]",
                *(str(counts[reason]) for reason in reasons),
            )
        )
    names = ("repository", "lines", "tests", "bugs of one place", "usable", *reasons)
    parts = [
        _BUGS.format(machine=machine(), seed=options.seed),
        table(names, rows),
        _EPISODES.format(count=options.episodes),
        table(("", "seconds"), [(what, number(median(all_))) for what, all_ in figures.items()]),
    ]
    write(options.output, "swe", "Software engineering", parts, {"usable": usable, **figures})


def _usable(name: str, count: int, seed: int) -> Counter[str]:
    """Return why bugs of a repository are of no use, and how many; empty for those that are."""
    repository = shipped(name)
    drawn = Random(seed).sample(list(mutations_in(repository)), count)
    found: Counter[str] = Counter()
    for one in track(drawn, description=name):
        try:
            bug_of(repository, [one])
        except UnusableError as error:
            found[str(error)] += 1
        else:
            found[""] += 1
    return found


def _episodes(count: int) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        start, cpu = time.monotonic(), _cpu()
        found = call()
        figures.setdefault(name, []).append(time.monotonic() - start)
        figures.setdefault(f"{name}, CPU", []).append(_cpu() - cpu)
        return found

    with SweEnv(call_format=None) as env:
        for number_ in track(range(count), description="episodes"):
            timed("reset", partial(env.reset, seed=0, idx=number_))
            env.step(env.solution())
            timed("fork", env.machine.fork).close()
            step = timed("grading", partial(env.step, env.finish_action))
            assert step.reward == 1.0, env.task  # noqa: S101 - the figures are of graded episodes
    return figures


def _cpu() -> float:
    """Return the seconds of CPU that all processes of the computer have used."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system = map(int, fields[:3])
    return (user + nice + system) / _TICKS
