"""Measures Ray actors on a simulated cluster: costs of a step, sleepers, nodes that are killed.

All nodes are on this machine, so it shows costs and not speed-ups.

Examples:
  python benchmarks/run.py ray
  python benchmarks/run.py ray --only snapshots
"""

import argparse
import contextlib
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from common.output import machine, number, table, write
from rich.progress import track

from gem_core.factory import make_factory
from gem_serve.cluster import RayPool
from gem_workers import Pool, WorkerPool
from ray_pool.measures import cluster_of, equal, kill, sleepers, steps, warm

__all__ = ["add_arguments", "run"]

_SIZES = (0.4, 4.0, 64.0, 1000.0)
_ACTORS = (1, 2, 4, 8, 16, 32, 64)
_NODES = (1, 2, 3, 4)
_PARTS = ("snapshots", "actors", "nodes", "sleepers", "kills")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1000, help="steps in a round")
    parser.add_argument("--repeat", type=int, default=10, help="nodes that are killed")
    parser.add_argument("--episodes", type=int, default=600)
    parser.add_argument("--only", choices=_PARTS, nargs="*", default=_PARTS)
    parser.add_argument("--seed", type=int, default=0, help="which node is killed, and when")


def run(options: argparse.Namespace) -> None:
    """Measure."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    measures: dict[str, Callable[[argparse.Namespace], Any]] = {
        "snapshots": _snapshots,
        "actors": _actors,
        "nodes": _nodes,
        "sleepers": _sleepers,
        "kills": _kills,
    }
    path = Path(options.output) / "ray.json"
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    for part in options.only:
        found[part] = measures[part](options)
        write(options.output, "ray", "Ray", _texts(found), found)


@contextlib.contextmanager
def _pool(nodes: int, actors: int) -> Iterator[RayPool]:
    with cluster_of(nodes) as cluster, _pool_in(cluster, actors) as pool:
        yield pool


def _pool_in(cluster: Any, actors: int) -> RayPool:
    pool = RayPool(address=cluster.address, actors=actors, cpus=0.01)
    warm(pool, actors)
    return pool


def _rounds(options: argparse.Namespace, pool: Pool, **asked: Any) -> dict[str, float]:
    rounds = [steps(pool, total=options.steps, **asked) for _ in range(options.rounds)]
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


def _snapshots(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    with _pool(1, 1) as actors, WorkerPool(max_workers=1) as processes:
        warm(processes, 1)
        pools: tuple[tuple[str, Pool], ...] = (("ray", actors), ("processes", processes))
        for size in track(_SIZES, description="snapshots"):
            for name, pool in pools:
                for play in ("steps", "episodes"):
                    asked = {"kilobytes": size, "seconds": 0.0, "play": play, "concurrency": 1}
                    figures = _rounds(options, pool, **asked)
                    rows.append({"pool": name, "kilobytes": size, "play": play, **figures})
    return rows


def _actors(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    with cluster_of(1) as cluster:
        for count in track(_ACTORS, description="actors"):
            with _pool_in(cluster, count) as pool:
                asked = {"kilobytes": 4.0, "seconds": 0.0, "concurrency": count}
                for play in ("steps", "episodes"):
                    figures = _rounds(options, pool, play=play, **asked)
                    rows.append({"actors": count, "play": play, **figures})
    return rows


def _nodes(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for count in track(_NODES, description="nodes"):
        with _pool(count, 4) as pool:
            asked = {"kilobytes": 4.0, "seconds": 0.0, "concurrency": 4}
            for play in ("steps", "episodes"):
                figures = _rounds(options, pool, play=play, **asked)
                rows.append({"nodes": count, "play": play, **figures})
    return rows


def _sleepers(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    with _pool(1, 64) as pool:
        for play in ("steps", "episodes"):  # every actor imports what it needs
            sleepers(pool, envs=64, seconds=1.0, turns=4, play=play)
        for seconds in track((0.25, 0.5, 1.0), description="sleepers"):
            for play in ("steps", "episodes"):
                asked: dict[str, Any] = {"envs": 64, "seconds": seconds, "turns": 8, "play": play}
                rounds = [sleepers(pool, **asked) for _ in range(options.rounds)]
                shares = [one["share"] for one in rounds]
                rows.append({"seconds": seconds, "play": play, "share": median(shares)})
    return rows


def _kills(options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(options.seed)
    random.seed(options.seed)
    make_env, count = make_factory("game:GuessTheNumber-v0-easy"), options.episodes
    plays: tuple[Any, ...] = ("steps", "episodes")
    rows = []
    with cluster_of(3) as cluster:
        with _pool_in(cluster, 6) as pool:
            same = {play: equal(pool, make_env, episodes=count, play=play) for play in plays}
        for _ in track(range(options.repeat), description="kills"):
            with _pool_in(cluster, 6) as pool:  # a new one, so that each node has actors
                moment = chance.uniform(0.2, 5.0)
                rows.append(kill(cluster, pool, episodes=count, moment=moment))
    return {"equal": same, "rows": rows}


def _texts(found: dict[str, Any]) -> list[str]:
    """Return the parts of the page."""
    heading = (
        f"A simulated cluster: all nodes are on {machine()}, so the figures are costs and not "
        f"speed-ups. An environment's step does nothing unless it sleeps; an episode has 10 turns."
    )
    texts = [heading]
    if "snapshots" in found:
        rows: list[tuple[str, ...]] = [
            (one["pool"], one["play"], f"{one['kilobytes']:g}", *_costs(one))
            for one in found["snapshots"]
        ]
        texts += [
            "## Size of the snapshot",
            "One actor or worker process.",
            _table(rows, "pool", "play", "kB"),
        ]
    for name in ("actors", "nodes"):
        if name in found:
            rows = [(str(one[name]), one["play"], *_costs(one)) for one in found[name]]
            what = "on one node" if name == "actors" else "with 4 actors"
            texts += [
                f"## {name.capitalize()}",
                f"Snapshots of 4 kB, {what}.",
                _table(rows, name, "play"),
            ]
    if "sleepers" in found:
        rows = [
            (f"{one['seconds']:g}", one["play"], f"{one['share']:.0%}") for one in found["sleepers"]
        ]
        texts += [
            "## 64 environments that sleep",
            "64 actors, 8 turns. Ideal is the time that one of them sleeps.",
            table(("seconds a step", "play", "share of ideal"), rows),
        ]
    if "kills" in found:
        texts += _kill_texts(found["kills"])
    return texts


def _costs(row: dict[str, Any]) -> tuple[str, str, str]:
    return number(row["ms"]), number(row["cpu_ms"]), f"{row['bytes']:,.0f}"


def _table(rows: list[Any], *names: str) -> str:
    return table((*names, "ms a step", "driver's CPU s per 1,000 steps", "bytes a step"), rows)


def _kill_texts(kills: dict[str, Any]) -> list[str]:
    names = ("moment", "seconds", "in_flight", "replaced", "repeated", "lost", "unequal")
    rows = [tuple(number(one[name]) for name in names) for one in kills["rows"]]
    same = ", ".join(f"{play}: {'yes' if yes else 'no'}" for play, yes in kills["equal"].items())
    text = (
        f"600 episodes of game:GuessTheNumber-v0-easy on three nodes equal those of one process, "
        f"field by field ({same}). Then episodes of 10 turns of 5 ms, while a node is killed."
    )
    return [
        "## A node is killed",
        text,
        table(("killed after s", "run s", "in flight", *names[3:]), rows),
    ]
