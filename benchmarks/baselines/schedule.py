"""Makes the cells that are missing, and writes the figures of all of them."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from learning.cells import runs_of
from learning.schedule import make_cells, processes, results
from learning.store import Store, append_line, read_lines, versions

from baselines.envs import AGENTS, SEEDS, SUITE, factories, suite
from baselines.figures import FILE
from baselines.scripted import play
from baselines.tiny import CELLS, PLAN

__all__ = ["make_all"]

_COMMANDS = (
    "python benchmarks/run.py baselines",
    f"gem-core eval suite={SUITE} 'agent=[{','.join(AGENTS)}]' seed=SEED",
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
            _make_scripted(pool, runs / "scripted.jsonl")
        if only != "scripted":
            for cell in CELLS:  # one after the other, so that what is done is complete
                make_cells(pool, store, [cell], PLAN)
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_figures(store, runs), indent=1, ensure_ascii=False)
    (output / FILE).write_text(text + "\n", encoding="utf-8")


def _make_scripted(pool: Any, path: Path) -> None:
    done = {_key(one) for one in read_lines(path)}
    wanted = [(env, agent, seed) for seed in SEEDS for env in factories() for agent in AGENTS]
    calls = [partial(play, *one) for one in wanted if one not in done]
    for number, figures in enumerate(results(pool, calls), start=1):
        append_line(path, {**figures, "versions": versions()})
        found = figures.get("error") or f"return {figures['return']:.2f}"
        print(f"episodes {number}/{len(calls)}: {' '.join(map(str, _key(figures)))}: {found}")


def _key(figures: dict[str, Any]) -> tuple[str, str, int]:
    return figures["env"], figures["agent"], figures["seed"]


def _figures(store: Store, runs: Path) -> dict[str, Any]:
    """Return everything that the page is made of: finished cells of the suite as it is now."""
    known: dict[tuple[str, str, int], dict[str, Any]] = {
        _key(one): one for one in read_lines(runs / "scripted.jsonl")
    }
    scripted = [one for key, one in sorted(known.items()) if key[0] in factories()]
    warm = [one for (env, _), one in sorted(store.warm.items()) if env in PLAN.tasks]
    trained = [store.runs[run] for cell in CELLS for run in runs_of(cell) if run in store.runs]
    return {
        "commands": list(_COMMANDS),
        "suite": {"envs": list(suite().envs), "settings": dict(suite().settings)},
        "seeds": list(SEEDS),
        "descriptions": {name: one.spec.description for name, one in factories().items()},
        "versions": _distinct([one["versions"] for one in (*scripted, *warm)]),
        "scripted": [_without_versions(one) for one in scripted],
        "warm_starts": [_without_versions(one) for one in warm],
        "runs": trained,
    }


def _distinct(values: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    return [one for number, one in enumerate(values) if one not in values[:number]]


def _without_versions(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name != "versions"}
