"""Measures the CPU time that adapters for trainers add to a turn of play_tokens.

Every adapter whose framework is installed plays the same episodes through its framework's own code.
The time of a turn is the difference between many and few episodes, divided by their turns, so what
a framework does once is left out. What it does for each episode counts as the adapter's.

Examples:
  python benchmarks/run.py adapters                    the stubs and what is installed
  .venv-adapters/trl/bin/python benchmarks/run.py adapters trl
"""

import argparse
import time
from collections.abc import Callable

from common.output import machine, not_measured, number, table, write

from gem_adapters.harnesses import MissingFrameworkError, harness_names, load_harness
from gem_rollout.testing.adapter_checks import make_case
from gem_rollout.testing.adapters import Case, Played, case_rows, reference

__all__ = ["add_arguments", "run"]

_TURNS = 8
_GOAL = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="adapters; all by default")
    parser.add_argument("--episodes", type=int, default=64, help="the larger number of episodes")
    parser.add_argument("--rounds", type=int, default=7)


def run(options: argparse.Namespace) -> None:
    """Measure every adapter in turn, round by round."""
    sides: dict[str, Callable[[Case], list[Played]]] = {"play_tokens": reference}
    missing: dict[str, str] = {}
    for name in ("stub.pull", "stub.push", *(options.names or harness_names())):
        try:
            harness = load_harness(name)
        except MissingFrameworkError as error:
            missing[name] = str(error)
        else:
            sides[harness.name] = harness.play
    few, many = (_case(count) for count in (options.episodes // 4, options.episodes))
    for play in sides.values():
        play(few.fresh())
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, play in sides.items():
            times[name].append((_seconds(play, few), _seconds(play, many)))
    turns = _TURNS * (len(many.rows) - len(few.rows))
    write(options.output, "adapters", "Adapters", _page(times, turns, missing), times)


def _case(episodes: int) -> Case:
    return make_case(case_rows("Turns", episodes))


def _seconds(play: Callable[[Case], list[Played]], case: Case) -> float:
    case = case.fresh()
    before = time.process_time()
    play(case)
    return time.process_time() - before


def _page(
    times: dict[str, list[tuple[float, float]]], turns: int, missing: dict[str, str]
) -> list[str]:
    rows = []
    base = _milliseconds(times["play_tokens"], turns)
    for name, rounds in times.items():
        own = _milliseconds(rounds, turns)
        rows.append((name, number(own), "-" if name == "play_tokens" else number(own - base)))
    heading = (
        f"CPU time of a turn in ms, the least of {len(times['play_tokens'])} rounds, on "
        f"{machine()}. The goal is less than {_GOAL} ms over play_tokens."
    )
    return [
        heading,
        table(("adapter", "ms a turn", "over play_tokens"), rows),
        *not_measured(missing),
    ]


def _milliseconds(rounds: list[tuple[float, float]], turns: int) -> float:
    few = min(seconds for seconds, _ in rounds)
    many = min(seconds for _, seconds in rounds)
    return 1000 * (many - few) / turns
