"""Makes the cells that are missing, and writes the figures of all of them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from learning.cells import runs_of
from learning.schedule import is_ready, make_cells, processes, results
from learning.store import Store, append_line, read_lines, versions

from baselines.constant import best_constant, play_constant
from baselines.envs import AGENTS, SEEDS, SUITE, factories, suite
from baselines.figures import FILE
from baselines.scripted import play
from baselines.tiny import CELLS, PLAN

__all__ = ["make_all"]

SCRIPTED, CONSTANTS = "scripted.jsonl", "constants.jsonl"
_COMMANDS = (
    "python benchmarks/run.py baselines",
    f"gem-core eval suite={SUITE} 'agent=[silent,random,oracle]' seed=SEED",
)
"""What makes the figures, and what plays the episodes of a seed without a model."""


def make_all(runs: Path, output: Path, *, only: str | None, jobs: int) -> None:
    """Make what is missing in the folder of runs, and write the figures to ``output``.

    Args:
        runs: Folder of the warm starts and of the figures so far.
        output: Folder of the results.
        only: ``scripted`` for agents without a model, ``trained`` for models; None for both.
        jobs: Number of processes, each with one thread.
    """
    store = Store(runs)
    with processes(jobs) as pool:
        if only != "trained":
            _make_constants(pool, runs / CONSTANTS)
            _make_scripted(pool, runs / SCRIPTED, _texts(runs))
        if only != "scripted":
            for cell in CELLS:  # one after the other, so that what is done is complete
                first = replace(cell, starts=1)
                make_cells(pool, store, [first], PLAN)
                if is_ready(store, first, PLAN):
                    make_cells(pool, store, [cell], PLAN)
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_figures(store, runs), indent=1, ensure_ascii=False)
    (output / FILE).write_text(text + "\n", encoding="utf-8")


def _make_constants(pool: Any, path: Path) -> None:
    done = {one["env"] for one in read_lines(path)}
    calls = [partial(best_constant, env) for env in factories() if env not in done]
    for number, figures in enumerate(results(pool, calls), start=1):
        append_line(path, {**figures, "versions": versions()})
        print(f"constant {number}/{len(calls)}: {figures['env']}: {figures['text']!r}", flush=True)


def _texts(runs: Path) -> dict[str, str]:
    return {one["env"]: one["text"] for one in read_lines(runs / CONSTANTS)}


def _make_scripted(pool: Any, path: Path, texts: dict[str, str]) -> None:
    done = {_key(one) for one in read_lines(path)}
    wanted = [(env, agent, seed) for seed in SEEDS for env in factories() for agent in AGENTS]
    calls = [
        partial(play_constant, env, texts[env], seed)
        if agent == "constant"
        else partial(play, env, agent, seed)
        for env, agent, seed in wanted
        if (env, agent, seed) not in done
    ]
    for number, figures in enumerate(results(pool, calls), start=1):
        append_line(path, {**figures, "versions": versions()})
        found = figures.get("error") or f"return {figures['return']:.2f}"
        print(f"episodes {number}/{len(calls)}: {' '.join(map(str, _key(figures)))}: {found}")


def _key(figures: dict[str, Any]) -> tuple[str, str, int]:
    return figures["env"], figures["agent"], figures["seed"]


def _figures(store: Store, runs: Path) -> dict[str, Any]:
    """Return everything that the page is made of: finished cells of the suite as it is now."""
    known: dict[tuple[str, str, int], dict[str, Any]] = {
        _key(one): one for one in read_lines(runs / SCRIPTED)
    }
    scripted = [one for key, one in sorted(known.items()) if key[0] in factories()]
    constants = [one for one in read_lines(runs / CONSTANTS) if one["env"] in factories()]
    warm = [one for (env, _), one in sorted(store.warm.items()) if env in PLAN.families]
    trained = [store.runs[run] for cell in CELLS for run in runs_of(cell) if run in store.runs]
    return {
        "commands": list(_COMMANDS),
        "suite": {"envs": list(suite().envs), "settings": dict(suite().settings)},
        "seeds": list(SEEDS),
        "descriptions": {name: one.spec.description for name, one in factories().items()},
        "versions": _distinct([one["versions"] for one in (*constants, *scripted, *warm)]),
        "constants": [_without_versions(one) for one in constants],
        "scripted": [_without_versions(one) for one in scripted],
        "warm_starts": [_without_versions(one) for one in warm],
        "runs": trained,
    }


def _distinct(values: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    return [one for number, one in enumerate(values) if one not in values[:number]]


def _without_versions(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != "versions"}
