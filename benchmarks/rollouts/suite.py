"""Compares engines that play many episodes at the same time against an endpoint.

Engine and endpoint are separate processes, measured from outside: finished calls, CPU time and
memory of the engine's processes. A round takes every measurement of every engine, the engines one
right after the other; the tables show medians over the rounds. Peers are installed once, into their
own virtual environments. Linux only, because it reads /proc.

Examples:
  python benchmarks/run.py rollouts                          everything, about 13 minutes a round
  python benchmarks/run.py rollouts --quick                  gem-core and the bare loops, a minute
  python benchmarks/run.py rollouts --only tail --engine gem-core --engine 'bare aiohttp'
  python benchmarks/run.py rollouts --only 0ms --concurrency 64 --rounds 5
  python benchmarks/run.py rollouts --command 'mine=python my.py {url} {concurrency} {turns}'

{url}, {concurrency}, {episodes}, {turns} (one or several) and {out} are replaced;
README.md beside this file says what the command has to do.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial

from common.output import machine, not_measured, write
from common.peers import GEM_LLM, INSPECT_AI, VERIFIERS, Peer, find_or_install
from common.processes import WORKER, in_rounds

from rollouts.report import Results, parts_of
from rollouts.runs import Engine, Scenario, eval_seconds, play_with_faults, resume, throughput

__all__ = ["add_arguments", "run"]

_SCENARIOS = (
    Scenario(name="0ms", title="1 turn, 0 ms", concurrency=(1, 64, 512, 2048)),
    Scenario(name="20ms", title="1 to 7 turns, 20 ms", latency=0.02, multi_turn=True),
    Scenario(
        name="tail",
        title="1 to 7 turns, 20 ms, and 1 s for 5 % of the calls",
        latency=0.02,
        tail=(0.05, 1.0),
        multi_turn=True,
        concurrency=(64, 512),
    ),
)
_OTHERS = ("faults", "kill", "eval")
_OWN = "gem-core"
_BARE = {"bare aiohttp": "aiohttp_loop", "bare openai SDK": "openai_loop"}
_PEERS: dict[str, tuple[str, Peer, bool]] = {
    "gem-llm, openai SDK": ("gem_llm", GEM_LLM, False),
    "gem-llm, http.client": ("gem_llm_http", GEM_LLM, False),
    "verifiers": ("verifiers", VERIFIERS, True),
    "inspect-ai": ("inspect_ai", INSPECT_AI, True),
}
_SURVIVORS = (_OWN, "verifiers", "inspect-ai")

Measure = Callable[[], dict[str, float]]
Measurement = tuple[str, str, str, Measure]
"""Scenario, engine, episodes at the same time, and the function that measures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    names = [*(one.name for one in _SCENARIOS), *_OTHERS]
    engines = [_OWN, *_BARE, *_PEERS]
    parser.add_argument("--quick", action="store_true", help="short, without peers")
    parser.add_argument("--only", action="append", choices=names, help="may be repeated")
    parser.add_argument("--engine", action="append", choices=engines, help="may be repeated")
    parser.add_argument("--command", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--concurrency", action="append", type=int, help="may be repeated")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, help="length of a measurement: default 2.5, with --quick 1"
    )
    parser.add_argument("--episodes", type=int, help="for faults and kill: default 10000")
    parser.add_argument("--limit", type=float, default=60, help="seconds to wait for an engine")


def run(options: argparse.Namespace) -> None:
    """Run the comparison."""
    stem = ["rollouts", *(["quick"] if options.quick else []), *(options.only or [])]
    options.only = options.only or [*(one.name for one in _SCENARIOS), *_OTHERS]
    options.seconds = options.seconds or (1.0 if options.quick else 2.5)
    options.episodes = options.episodes or (500 if options.quick else 10_000)
    if options.quick and not options.concurrency:
        options.concurrency = (1, 64)
    options.engine = options.engine or [_OWN, *_BARE, *(() if options.quick else _PEERS)]
    measurements, results = _measurements(options, _engines(options)), Results()

    def take(scenario: str, engine: str, column: str, measure: Measure) -> None:
        results.add(scenario, engine, column, measure())

    def work(_: int) -> list[tuple[str, Callable[[], None]]]:
        return [(f"{one[1]}, {one[0]}, {one[2]}", partial(take, *one)) for one in measurements]

    errors = in_rounds(options.rounds, work)
    peers = ", ".join(sorted({peer.requirement for _, peer, _ in _PEERS.values()}))
    note = f"{machine()}; {options.rounds} rounds of {options.seconds:g} s; peers: {peers}."
    titles = {one.name: one.title for one in _SCENARIOS}
    parts = [note, *not_measured(errors), *parts_of(results, titles)]
    write(options.output, "-".join(stem), "Rollouts", parts, results.rounds)


def _engines(options: argparse.Namespace) -> list[Engine]:
    """Return the chosen engines; peers that are missing are installed."""
    found: list[Engine] = []
    for name in options.engine:
        if name == _OWN:
            found.append(Engine(name=name, command=_play(sys.executable, "gem_core"), stores=True))
        elif name in _BARE:
            found.append(Engine(name=name, command=_play(sys.executable, _BARE[name])))
        else:
            module, peer, lists = _PEERS[name]
            command = _play(str(find_or_install(peer)), module)
            found.append(Engine(name=name, command=command, lists=lists))
    for given in options.command:
        name, _, command = given.partition("=")
        found.append(Engine(name=name, command=shlex.split(command), lists="{episodes}" in command))
    return found


def _play(python: str, module: str) -> list[str]:
    command = [python, WORKER, "rollouts.play", module, "{url}", "--concurrency", "{concurrency}"]
    return [*command, "--episodes", "{episodes}", "--turns", "{turns}", "--out", "{out}"]


def _measurements(options: argparse.Namespace, engines: Sequence[Engine]) -> list[Measurement]:
    todo: list[Measurement] = []
    for scenario in _SCENARIOS:
        if scenario.name not in options.only:
            continue
        for concurrency in options.concurrency or scenario.concurrency:
            for engine in engines:
                todo.append(_played(options, engine, scenario, concurrency))  # noqa: PERF401 - read
    given = [one.partition("=")[0] for one in options.command]
    for engine in engines:
        # A command without a number of episodes never ends.
        if engine.name in _SURVIVORS or (engine.name in given and engine.lists):
            todo += _survived(options, engine)
    if "eval" in options.only:
        times = 2 if options.quick else 5
        todo.append(("eval", _OWN, "", lambda: {"seconds": eval_seconds(times)}))
    return todo


def _played(
    options: argparse.Namespace, engine: Engine, scenario: Scenario, concurrency: int
) -> Measurement:
    # Slow calls are rare; a longer measurement has enough of them.
    seconds = options.seconds * (2 if scenario.tail[0] else 1)

    def measure() -> dict[str, float]:
        return throughput(engine, scenario, concurrency, seconds=seconds, limit=options.limit)

    return scenario.name, engine.name, str(concurrency), measure


def _survived(options: argparse.Namespace, engine: Engine) -> list[Measurement]:
    """Return the measurements of faults and of a kill; peers, which are slow, play a tenth."""
    episodes = options.episodes if engine.stores else options.episodes // 10
    concurrency, limit = 64, options.limit

    def faults() -> dict[str, float]:
        return play_with_faults(engine, episodes, share=0.02, concurrency=concurrency, limit=limit)

    def kill() -> dict[str, float]:
        return resume(engine, episodes, concurrency=concurrency, limit=limit)

    both = ("faults", faults), ("kill", kill)
    return [(name, engine.name, "", run) for name, run in both if name in options.only]
