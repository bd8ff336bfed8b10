"""Measures WikiGame: opening of graphs, resets, steps, memory, and how far players get.

Each round of each graph is a process of its own. Times are of the CPU. The folder is made here, as
large as Wikispeedia's; ``--data`` takes another.

Examples:
  python benchmarks/run.py wikigame
  python benchmarks/run.py wikigame --rounds 3 --data ~/wikispeedia_paths-and-graph
"""

import argparse
import functools
import os
import random
import sys
import tempfile
from pathlib import Path
from statistics import median

from common.output import machine, not_measured, number, table, write
from common.processes import WORKER, in_rounds, run_json

__all__ = ["add_arguments", "run", "write_folder"]

_TIMEOUT = 600.0
_EPISODES = "2000"
_PAGES, _LINKS = 4604, 119_882
"""The size of Wikispeedia's graph."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=500, help="episodes of each player")
    parser.add_argument("--data", help="a folder in Wikispeedia's format")


def run(options: argparse.Namespace) -> None:
    """Measure the graphs in turn, round by round, and let the players play."""
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or write_folder(Path(folder))
        graphs = {"world": [], "wordnet": [], "folder": [str(data)]}
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in graphs}

        def measure(name: str) -> None:
            command = [sys.executable, WORKER, "wikigame.measure", name, _EPISODES, *graphs[name]]
            rounds[name].append(run_json(command, os.environ, _TIMEOUT))

        errors = in_rounds(
            options.rounds,
            lambda _: [(name, functools.partial(measure, name)) for name in graphs],
        )
        players = run_json(
            [sys.executable, WORKER, "wikigame.players", str(options.episodes)],
            os.environ,
            _TIMEOUT,
        )
    found = {name: figures for name, figures in rounds.items() if figures}
    rows = [
        (what, *(number(median(one[what] for one in figures)) for figures in found.values()))
        for what in next(iter(found.values()), [{}])[0]
    ]
    heading = (
        f"Milliseconds of CPU, but for steps and KiB: the median of {options.rounds} rounds, on "
        f"{machine()}. The actions are random links. A first reset of `world` draws a world, and "
        f"the first 2,000 draw all 16; then the same episodes are started again. The folder has "
        f"{_PAGES:,} pages and {_LINKS:,} links without texts. The memory is that of 2,000 "
        f"environments in an episode, beyond the graph that they share."
    )
    cells = [(*one["what"], *(number(one[key]) for key in ("return", "wins"))) for one in players]
    about = (
        f"Mean return and share of won episodes over {options.episodes} episodes with 30 turns. "
        f"`WikiGame-reader` follows the link with the most words of the target's summary."
    )
    parts = [
        heading,
        table(("", *found), rows),
        about,
        table(("graph", "variant", "agent", "return", "won"), cells),
        *not_measured(errors),
    ]
    write(options.output, "wikigame", "WikiGame", parts, {"rounds": rounds, "players": players})


def write_folder(folder: Path) -> Path:
    """Write a graph as large as Wikispeedia's, in which few pages have most of the links."""
    rng = random.Random(0)
    names = [f"Article_{page}" for page in range(_PAGES)]
    links: dict[tuple[int, int], None] = {}
    while len(links) < _LINKS:
        origin, page = int(_PAGES * rng.random() ** 1.5), int(_PAGES * rng.random() ** 2)
        if origin != page:
            links[origin, page] = None
    (folder / "articles.tsv").write_text("".join(f"{name}\n" for name in names))
    lines = [f"{names[origin]}\t{names[page]}\n" for origin, page in sorted(links)]
    (folder / "links.tsv").write_text("".join(lines))
    return folder
