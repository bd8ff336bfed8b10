"""Measures the CPU time that adapters for trainers add to a turn of play_tokens.

Every adapter whose framework is installed plays the same episodes through its framework's own code.
The time of a turn is the difference between many and few episodes, divided by their turns, so what
a framework does once is left out. What it does for each episode counts as the adapter's, except for
verl: its row "alone" is verl's own agent loop of one turn, for as many episodes.

Examples:
  python benchmarks/run.py adapters                    the stubs and what is installed
  .venv-adapters/trl/bin/python benchmarks/run.py adapters trl
"""

import argparse
import asyncio
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

from common.output import machine, not_measured, number, table, write

from gem_adapters.harnesses import MissingFrameworkError, harness_names, load_harness
from gem_adapters.rows import verl_layout
from gem_adapters.testing.adapter_checks import make_case
from gem_adapters.testing.adapters import Case, case_rows, reference
from gem_rollout import Limits

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
    sides: dict[str, Callable[[Case], Any]] = {"play_tokens": reference}
    missing: dict[str, str] = {}
    for name in ("stub.pull", "stub.push", *(options.names or harness_names())):
        try:
            harness = load_harness(name)
        except MissingFrameworkError as error:
            missing[name] = str(error)
        else:
            sides[harness.name] = harness.play
            if harness.name == "verl":
                sides["verl alone"] = _verl_alone
    few, many = (_case(count) for count in (options.episodes // 4, options.episodes))
    for play in sides.values():
        play(few.fresh())
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, play in sides.items():
            times[name].append((_seconds(play, few), _seconds(play, many)))
    turns = _TURNS * (len(many.rows) - len(few.rows))
    write(options.output, "adapters", "Adapters", _page(times, turns, missing), times)


def _verl_alone(case: Case) -> Any:
    """Play the rows with verl's own agent loop, one turn for each."""
    from gem_adapters.checks.verl import VerlServer, batch_of, make_worker  # noqa: PLC0415

    rows = [{**verl_layout(row), "agent_name": "single_turn_agent"} for row in case.rows]
    with TemporaryDirectory() as folder:
        worker = make_worker(folder, case.tokenizer, VerlServer(case.model), limits=case.limits)
        return asyncio.run(worker.generate_sequences(batch_of(rows)))


def _case(episodes: int) -> Case:
    limits = Limits(prompt_tokens=256, response_tokens=1024)
    return make_case(case_rows("Turns", episodes), limits=limits)


def _seconds(play: Callable[[Case], Any], case: Case) -> float:
    case = case.fresh()
    before = time.process_time()
    play(case)
    return time.process_time() - before


def _page(
    times: dict[str, list[tuple[float, float]]], turns: int, missing: dict[str, str]
) -> list[str]:
    rows = []
    spent = {name: _milliseconds(rounds, turns) for name, rounds in times.items()}
    for name, own in spent.items():
        over = own - spent["play_tokens"]
        alone = spent.get(f"{name} alone")
        is_base = name == "play_tokens" or name.endswith(" alone")
        rows.append(
            (
                name,
                number(own),
                "-" if is_base else number(over),
                "-" if alone is None else number(over - alone),
            )
        )
    heading = (
        f"CPU time of a turn in ms, the least of {len(times['play_tokens'])} rounds, on "
        f'{machine()}. The goal is less than {_GOAL} ms over play_tokens. "verl alone" is verl\'s '
        f"own agent loop with one turn for each episode, divided by the same number of turns."
    )
    return [
        heading,
        table(("adapter", "ms a turn", "over play_tokens", "less the framework alone"), rows),
        *not_measured(missing),
    ]


def _milliseconds(rounds: list[tuple[float, float]], turns: int) -> float:
    few = min(seconds for seconds, _ in rounds)
    many = min(seconds for _, seconds in rounds)
    return 1000 * (many - few) / turns
