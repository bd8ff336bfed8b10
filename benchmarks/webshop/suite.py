"""Measures WebShop: speed, memory, a large catalogue; with --original also beside the original.

The original is a checkout of https://github.com/princeton-nlp/WebShop. Its pages, clicks and
rewards are compared in random walks on the same products, and both play the same walks for speed.
Its search needs Java and its tagger a model, so both are replaced in its process, which has an
environment of its own with Flask 2.1, Beautiful Soup 4.11 and thefuzz 0.19.

Examples:
  python benchmarks/run.py webshop
  python benchmarks/run.py webshop --products 20000 --rounds 3
  python benchmarks/run.py webshop --original ../WebShop --walks 300
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from common.output import machine, number, table, write
from common.processes import WORKER, run_json

import gem_core
from gem_web.readers import find_source
from gem_web.sample import sample_catalogue, write_folder
from gem_web.store import load_catalogue, open_catalogue, write_catalogue
from webshop.equal import Differences, OriginalProcess, compare_walks, goal_for_original

__all__ = ["add_arguments", "run"]

_TIMEOUT = 1800.0
_VENV = Path(__file__).resolve().parents[2] / ".venv-webshop"
_REQUIREMENTS = (
    "beautifulsoup4==4.11.1",
    "cleantext==1.1.4",
    "Flask==2.1.2",
    "itsdangerous<2.1",
    "MarkupSafe<2.1",
    "jinja2<3.1",
    "numpy<2",
    "rank_bm25==0.2.2",
    "rich==12.4.4",
    "thefuzz==0.19.0",
    "tqdm",
    "Werkzeug==2.1.0",
)
_SPEED_EPISODES = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--products", type=int, default=100_000, help="of the large catalogue")
    parser.add_argument("--episodes", type=int, default=10_000, help="to watch the memory")
    parser.add_argument("--original", type=Path, help="a checkout of princeton-nlp/WebShop")
    parser.add_argument("--walks", type=int, default=300, help="random walks to compare")


def run(options: argparse.Namespace) -> None:
    """Measure, compare, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        found = _measure(options, Path(folder))
    parts = [
        f"CPU times on {machine()}; medians of {options.rounds} rounds, each a process.",
        "## webshop:Sample: 1,000 products",
        _rows(found["small"], found.get("original")),
        f"## A catalogue of {options.products:,} products",
        _rows(found["large"]),
        "## Many episodes of the random agent",
        _rows(found["soak"]),
    ]
    if "equal" in found:
        parts += ["## Beside the original, on the same products", found["equal"]]
    write(options.output, "webshop", "WebShop", parts, found)


def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    walks = _write_walks(folder / "walks.json")
    rounds = [_worker("small", str(folder / "walks.json")) for _ in range(options.rounds)]
    found: dict[str, Any] = {"small": {what: median(r[what] for r in rounds) for what in rounds[0]}}
    command = [sys.executable, "-m", "gem_core", "webshop", "sample", str(folder / "large")]
    subprocess.run([*command, "--products", str(options.products)], check=True)
    found["large"] = _worker("large", str(folder / "large"))
    found["soak"] = _worker("soak", str(options.episodes))
    if options.original is not None:
        found |= _beside(options, folder, walks)
    return found


def _worker(*arguments: str) -> dict[str, float]:
    command = [sys.executable, WORKER, "webshop.measure", *arguments]
    figures: dict[str, float] = run_json(command, os.environ, _TIMEOUT)
    return figures


def _rows(figures: dict[str, float], original: dict[str, float] | None = None) -> str:
    if original is None:
        return table(("", "gem-web"), [(what, number(value)) for what, value in figures.items()])
    rows = [(what, number(value), number(original.get(what))) for what, value in figures.items()]
    return table(("", "gem-web", "original"), rows)


def _write_walks(path: Path) -> list[Any]:
    """Write the walks of a random agent: goals and actions."""
    env = gem_core.make("webshop:Sample")
    walks = []
    for number_ in range(_SPEED_EPISODES):
        env.reset(idx=number_, seed=number_)
        actions: list[str] = []
        over = False
        while not over:
            actions.append(str(env.sample_random_action()))
            step = env.step(actions[-1])
            over = step.terminated or step.truncated
        walks.append((number_, actions))
    path.write_text(json.dumps(walks))
    return walks


def _beside(options: argparse.Namespace, folder: Path, walks: list[Any]) -> dict[str, Any]:
    """Compare with the original and measure it."""
    made, goals = sample_catalogue()
    write_folder(folder / "files", made, goals)
    python = _interpreter()
    source = find_source(folder / "files")
    write_catalogue(folder / "converted", source.products(), source.goals, origin="files")
    catalogue = load_catalogue(folder / "converted")
    original = OriginalProcess(python, options.original, folder / "files")
    try:
        differences = compare_walks(original, catalogue, "train", options.walks, 0)
        speed = _speed(original, walks)
    finally:
        original.close()
    return {"equal": _described(differences), "original": speed}


def _speed(original: OriginalProcess, walks: list[Any]) -> dict[str, float]:
    """Play the walks in the original; return the same figures as for gem-web."""
    catalogue = open_catalogue("sample")
    goals = catalogue.goals("train")
    episodes = [
        (goal_for_original(goals.tasks[idx], catalogue), _with_hits(actions, catalogue))
        for idx, actions in walks
    ]
    count = sum(len(actions) for _, actions in walks)
    figures: dict[str, float] = {}
    for mode in ("text", "text_rich", "html"):
        answer = original.ask("walk", episodes=episodes, mode=mode)
        figures[f"{mode}: steps/s"] = count / answer["steps"]
        figures[f"{mode}: reset, ms"] = answer["resets"] / len(walks) * 1e3
    return figures


def _with_hits(actions: list[str], catalogue: Any) -> list[tuple[str, list[str]]]:
    """Return the actions without their boxes, each with the products of the last search."""
    pairs = []
    hits: list[str] = []
    for action in actions:
        plain = action.removeprefix("\\boxed{").removesuffix("}")
        if plain.startswith("search["):
            found = catalogue.search(" ".join(plain[7:-1].split()))
            hits = [catalogue.products[number_].asin for number_ in found]
        pairs.append((plain, hits))
    return pairs


def _described(found: Differences) -> str:
    text = (
        f"{found.steps:,} steps and {found.purchases} purchases of random walks: {found.pages} "
        f"pages, {found.clicks} lists of what can be clicked and {found.rewards} rewards differ."
    )
    return "\n\n".join([text, *(f"```\n{example}\n```" for example in found.examples[:1])])


def _interpreter() -> Path:
    """Return the interpreter with what the original needs; install it on the first call."""
    python = _VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(_VENV)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *_REQUIREMENTS]
        subprocess.run(install, check=True)
    return python
