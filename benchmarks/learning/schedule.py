"""Makes the warm starts and runs that are missing, in several processes."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from learning.cells import CELLS, SWEEP, Cell, Run, runs_of, with_rates
from learning.store import Store
from learning.tasks import STUDIES, Plan
from learning.training import make_warm_start, train

__all__ = ["is_ready", "make_all", "make_cells", "processes", "results"]


def make_all(runs: Path, output: Path, *, only: Sequence[str] | None, jobs: int) -> None:
    """Make what is missing in the folder of runs, and write the figures to ``output``.

    Args:
        runs: Folder of the warm starts and of the figures so far.
        output: Folder of the results.
        only: Names of studies; None for all.
        jobs: Number of processes, each with one thread.
    """
    store = Store(runs)
    cells = [one for one in CELLS if only is None or one.study in only]
    with processes(jobs) as pool:
        make_cells(pool, store, SWEEP)
        make_cells(pool, store, with_rates(cells, store.rates()))
    store.write_sorted(output)


def processes(jobs: int) -> ProcessPoolExecutor:
    """Return an executor with this number of processes, which use one thread each."""
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def make_cells(pool: Executor, store: Store, cells: Sequence[Cell], plan: Plan = STUDIES) -> None:
    """Make the warm starts and runs that a store lacks.

    Args:
        pool: Runs them.
        store: The figures so far; new ones are added.
        cells: The cells, whose learning rates are known.
        plan: The tasks and sizes. Cells whose warm starts have less success than it asks are left
            out.
    """
    _make_warm_starts(pool, store, cells, plan)
    ready = [cell for cell in cells if is_ready(store, cell, plan)]
    _make_runs(pool, store, ready, plan)


def is_ready(store: Store, cell: Cell, plan: Plan) -> bool:
    """Return whether all warm starts of a cell have the success that the plan asks."""
    starts = [store.warm.get((cell.family, start)) for start in range(cell.starts)]
    return all(
        one and min(one.get("learned", ()), default=0) >= plan.least_success for one in starts
    )


def _make_warm_starts(pool: Executor, store: Store, cells: Iterable[Cell], plan: Plan) -> None:
    wanted = dict.fromkeys((cell.family, start) for cell in cells for start in range(cell.starts))
    calls = [
        partial(make_warm_start, family, start, _warm(store, family, start), plan)
        for family, start in wanted
        if (family, start) not in store.warm or not _warm(store, family, start).is_dir()
    ]
    for number, figures in enumerate(results(pool, calls), start=1):
        store.add_warm_start(figures)
        print(
            f"warm start {number}/{len(calls)}: {figures['family']} {figures['start']}, validation "
            f"loss {figures['validation_loss']:.3f}, {figures['plays']}, "
            f"{figures['seconds']:.0f} s",
            flush=True,
        )


def _make_runs(pool: Executor, store: Store, cells: Sequence[Cell], plan: Plan) -> None:
    tests: dict[Run, dict[str, None]] = {}
    order: dict[Run, float] = {}
    for cell in cells:
        for run in runs_of(cell):
            tests.setdefault(run, {}).update(dict.fromkeys(cell.tests))
            # Partial results cover all cells: each has the same share of its seeds.
            share = max(cell.share, cell.seeds.index(run.seed) / len(cell.seeds))
            order[run] = min(order.get(run, share), share)
    missing = sorted((run for run in tests if run not in store.runs), key=lambda run: order[run])
    calls = [
        partial(
            train,
            run,
            tuple(tests[run]),
            _warm(store, run.family, run.start),
            store.folder / "now" / str(number),
            plan,
        )
        for number, run in enumerate(missing)
    ]
    for number, figures in enumerate(results(pool, calls), start=1):
        store.add_run(figures)
        plays = figures["plays"][figures["task"]]
        print(
            f"run {number}/{len(calls)}: {figures['task']} {figures['algo']} lr "
            f"{figures['lr']:g} offset {figures['offset']:g} start {figures['start']} seed "
            f"{figures['seed']}: return {plays['return']:.2f}, success {plays['success']:.2f}, "
            f"{plays['turns']:.1f} turns, {figures['seconds']:.0f} s",
            flush=True,
        )


def _warm(store: Store, family: str, start: int) -> Path:
    return store.folder / "warm" / family / str(start)


def results(pool: Executor, calls: Sequence[partial[dict[str, Any]]]) -> Iterable[dict[str, Any]]:
    """Run the calls, and yield what each returns when it is done."""
    for done in as_completed([pool.submit(call) for call in calls]):
        yield done.result()
