"""Compares engines that play many episodes at once against an endpoint, side by side.

Each measurement is an engine's process and an endpoint's, and is looked at from outside: calls that
have ended, CPU time and memory of the engine's processes. A round takes every measurement of every
engine, engines one right after the other; the tables show medians over the rounds. Peers are
installed once, into environments of their own beside the checkout. Linux only: it reads /proc.
"""

import argparse
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from peer import GEM_LLM, INSPECT_AI, VERIFIERS, Peer, PeerError, find_or_install
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import Progress
from rollout_report import Results, document
from rollout_runs import Engine, Scenario, eval_seconds, play_with_faults, resume, throughput

_HERE = Path(__file__).resolve().parent
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
_EXAMPLES = """\
examples:
  python benchmarks/rollouts.py                          everything, about 13 minutes a round
  python benchmarks/rollouts.py --quick                  gem-core and the bare loops, a minute
  python benchmarks/rollouts.py --only tail --engine gem-core --engine 'bare aiohttp'
  python benchmarks/rollouts.py --only 0ms --concurrency 64 --rounds 5
  python benchmarks/rollouts.py --command 'mine=python my_engine.py {url} {concurrency} {turns}'

{url}, {concurrency}, {episodes}, {turns} (one or several) and {out} are replaced; what the command
has to do is told in docs/straggler-benchmark.md.
"""

Measurement = tuple[str, str, str, Callable[[], dict[str, float]]]
"""Scenario, engine, episodes at once, and what to do."""


def main() -> None:
    """Run the comparison that the command line asks for."""
    options = _parse()
    try:
        engines = _engines(options)
    except PeerError as error:
        sys.exit(str(error))
    results, errors = _measure(options, engines)
    titles = {one.name: one.title for one in _SCENARIOS}
    text = document(results, titles, _notes(options, errors))
    _write(options, text, results)
    Console().print(Markdown(text))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*(one.name for one in _SCENARIOS), *_OTHERS]
    engines = [_OWN, *_BARE, *_PEERS]
    parser.add_argument("--quick", action="store_true", help="short, without peers")
    parser.add_argument("--only", action="append", choices=names, help="may be repeated")
    parser.add_argument("--engine", action="append", choices=engines, help="may be repeated")
    parser.add_argument("--command", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--concurrency", action="append", type=int, help="may be repeated")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of a look: default 2.5, with --quick 1")
    parser.add_argument("--episodes", type=int, help="of faults and kill: default 10000")
    parser.add_argument("--limit", type=float, default=60, help="seconds to wait for an engine")
    parser.add_argument("--output", type=Path, default=_HERE / "results", metavar="FOLDER")
    options = parser.parse_args()
    options.only = options.only or names
    options.seconds = options.seconds or (1.0 if options.quick else 2.5)
    options.episodes = options.episodes or (500 if options.quick else 10_000)
    if options.quick and not options.concurrency:
        options.concurrency = (1, 64)
    options.engine = options.engine or [_OWN, *_BARE, *(() if options.quick else _PEERS)]
    return options


def _engines(options: argparse.Namespace) -> list[Engine]:
    """Return the engines that were chosen; install peers that are not there."""
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
    command = [python, str(_HERE / "play.py"), module, "{url}", "--concurrency", "{concurrency}"]
    return [*command, "--episodes", "{episodes}", "--turns", "{turns}", "--out", "{out}"]


def _measure(
    options: argparse.Namespace, engines: Sequence[Engine]
) -> tuple[Results, dict[str, str]]:
    """Take all rounds; what failed once is left out from then on."""
    todo, results, errors = _measurements(options, engines), Results(), dict[str, str]()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=options.rounds * len(todo))
        for number in range(options.rounds):
            for scenario, engine, column, measure in todo:
                title = f"{engine}, {scenario}, {column}"
                progress.update(task, description=f"round {number + 1}: {title}")
                if title not in errors:
                    try:
                        results.add(scenario, engine, column, measure())
                    except RuntimeError as error:
                        errors[title] = str(error)
                progress.advance(task)
    return results, errors


def _measurements(options: argparse.Namespace, engines: Sequence[Engine]) -> list[Measurement]:
    todo: list[Measurement] = []
    for scenario in _SCENARIOS:
        if scenario.name not in options.only:
            continue
        for concurrency in options.concurrency or scenario.concurrency:
            for engine in engines:
                todo.append(_looked_at(options, engine, scenario, concurrency))  # noqa: PERF401 - read
    given = [one.partition("=")[0] for one in options.command]
    for engine in engines:
        # A command without a number of episodes never comes to an end.
        if engine.name in _SURVIVORS or (engine.name in given and engine.lists):
            todo += _survived(options, engine)
    if "eval" in options.only:
        times = 2 if options.quick else 5
        todo.append(("eval", _OWN, "", lambda: {"seconds": eval_seconds(times)}))
    return todo


def _looked_at(
    options: argparse.Namespace, engine: Engine, scenario: Scenario, concurrency: int
) -> Measurement:
    # Where a second is rare, a longer look sees enough of them.
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


def _notes(options: argparse.Namespace, errors: dict[str, str]) -> list[str]:
    setting = (
        f"{os.cpu_count()} CPUs, {platform.platform()}, Python {platform.python_version()}; "
        f"{options.rounds} round{'s' * (options.rounds > 1)} of {options.seconds:g} s"
        f"{', quick' if options.quick else ''}; load average at the end {os.getloadavg()[0]:.1f}; "
        f"peers: {', '.join(sorted({peer.requirement for _, peer, _ in _PEERS.values()}))}."
    )
    return [setting, *(f"Not measured: {title}: {why}." for title, why in errors.items())]


def _write(options: argparse.Namespace, text: str, results: Results) -> None:
    """Write the tables and everything measured; a partial run has a name of its own."""
    options.output.mkdir(parents=True, exist_ok=True)
    is_all = len(options.only) == len(_SCENARIOS) + len(_OTHERS)
    stem = "-".join(
        ["rollouts", *(["quick"] if options.quick else []), *([] if is_all else options.only)]
    )
    when = f"Written by `benchmarks/rollouts.py` on {time.strftime('%Y-%m-%d')}."
    (options.output / f"{stem}.md").write_text(f"# Rollouts\n\n{when}\n\n{text}")
    (options.output / f"{stem}.json").write_text(json.dumps(results.rounds, indent=1) + "\n")


if __name__ == "__main__":
    main()
