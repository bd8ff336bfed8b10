"""The page of the studies: tables and plots from the figures of runs."""

from collections.abc import Iterator, Sequence
from typing import Any

from learning.cells import RATES, STEPS, SWEEP, Cell
from learning.figures import Figures, said, signed
from learning.intervals import Interval
from learning.plots import plot_curves
from learning.store import Store
from learning.tasks import FAMILIES, TASKS

__all__ = ["TITLES", "write_report"]

TITLES = {
    "guess": "Algorithms in a game of several turns",
    "rates": "Learning rates, from all warm starts",
    "reverse": "Algorithms in a task of one turn",
    "offset": "A constant added to every return",
    "gamma": "Discounts in a long game",
    "transfer": "Other levels, other tasks",
    "tool": "With and without Python",
}
"""The studies in the order of the page, with their titles."""
_MEASURES = ("return", "success", "turns")
_HEADINGS = (
    "",
    "plays",
    "rate",
    "starts, runs",
    *(f"{measure}, {when}" for measure in _MEASURES for when in ("before", "after")),
)
_NOT_COMPARED = ("rates", "transfer")
_PLOTTED = {"gamma": "turns", "offset": "return", "guess": "return"}


def write_report(figures: Figures) -> str:
    """Write the page and its plots into the folder of the figures, and return the page."""
    store = figures.store
    parts = ["# Studies of learning", _how(store), *_warm_starts(store), *_sweep(figures)]
    for study in TITLES:
        if figures.of(study):
            parts += _study(figures, study)
    page = "\n\n".join(parts) + "\n"
    store.folder.mkdir(parents=True, exist_ok=True)
    (store.folder / "README.md").write_text(page, encoding="utf-8")
    return page


def _how(store: Store) -> str:
    seconds = sum(one["seconds"] for one in (*store.warm.values(), *store.runs.values()))
    versions = next(iter(store.warm.values()))["versions"]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        "`python benchmarks/run.py learning` makes all of it; "
        "`python benchmarks/run.py learning --report-only` makes this page from the figures of the "
        "runs, which are in `runs.jsonl` and `warm_starts.jsonl`.\n\n"
        f"A run has {STEPS} steps of 64 episodes and one update each. At the end, the model plays "
        "256 episodes that are the same for all models, with seeds that no training uses, sampled "
        "at temperature 1. The warm start plays 512 of them. ± is half of the 95 % interval: "
        "Student's t over the means of the warm starts. Differences are of runs with the same warm "
        "start and seed. A difference is in bold if its interval excludes 0; of those without "
        "an effect, one in twenty is in bold too.\n\n"
        f"{len(store.runs)} runs and {len(store.warm)} warm starts took {seconds / 3600:.1f} hours "
        f"of wall time in all, on processes of one thread: {listed}."
    )


def _warm_starts(store: Store) -> Iterator[str]:
    yield "## Warm starts"
    rows = [
        (
            family,
            start,
            f"{one['parameters']:,}",
            f"{one['validation_loss']:.3f}",
            *(
                "; ".join(f"{task} {one['plays'][task][what]:.2f}" for task in one["plays"])
                for what in ("return", "success")
            ),
            f"`{one['sha256'][:16]}`",
        )
        for (family, start), one in sorted(store.warm.items())
    ]
    headings = ("family", "seed", "parameters", "validation loss", "return", "success", "SHA-256")
    yield _table(headings, rows)
    yield "\n".join(
        f"- `{task}`: {TASKS[task].about}"
        for task in dict.fromkeys(
            task for family in FAMILIES.values() for task in (*family.tasks, *family.others)
        )
    )


def _sweep(figures: Figures) -> Iterator[str]:
    yield "## Learning rates"
    yield (
        "Return in `guess` at the end of one run from the first warm start, with a seed that no "
        "other cell uses. In bold the rate that all studies use for the algorithm."
    )
    rows = []
    for algo, best in figures.rates.items():
        cells = [cell for cell in SWEEP if cell.algo == algo]
        shown = [said(figures.after(cell, cell.task, "return"), 3) for cell in cells]
        bold = [
            f"**{one}**" if cell.lr == best else one for cell, one in zip(cells, shown, strict=True)
        ]
        rows.append((algo, *bold))
    yield _table(("", *(f"{rate:g}" for rate in RATES)), rows)


def _study(figures: Figures, study: str) -> Iterator[str]:
    yield f"## {TITLES[study]}"
    cells = figures.of(study)
    yield _table(_HEADINGS, [row for cell in cells for row in _rows(figures, cell)])
    lines = [line for cell in cells for line in _gains(figures, cell)]
    if study not in _NOT_COMPARED:
        lines += [line for cell in cells[1:] for line in _differences(figures, cell, cells[0])]
    yield "\n".join(lines)
    if study not in _NOT_COMPARED:
        measure, store = _PLOTTED.get(study, "success"), figures.store
        curves = {cell.label: store.of(cell) for cell in cells}
        plot_curves(curves, measure, store.folder / f"{study}.png", title=TITLES[study])
        yield f"![{measure} in each step]({study}.png)"


def _rows(figures: Figures, cell: Cell) -> Iterator[tuple[Any, ...]]:
    for task in (cell.task, *cell.tests):
        if not figures.played(cell, task):
            continue
        count = figures.after(cell, task, "return")
        yield (
            cell.label,
            task,
            f"{cell.lr:g}",
            f"{count.starts}, {count.runs}",
            *(
                said(of(cell, task, measure))
                for measure in _MEASURES
                for of in (figures.before, figures.after)
            ),
        )


def _gains(figures: Figures, cell: Cell) -> Iterator[str]:
    for task in (cell.task, *cell.tests):
        if figures.played(cell, task):
            gains = [(measure, figures.gain(cell, task, measure)) for measure in _MEASURES]
            yield f"- {cell.label}, {task}, after less before: {_listed(gains)}"


def _differences(figures: Figures, cell: Cell, first: Cell) -> Iterator[str]:
    found = [(measure, figures.less(cell, first, measure)) for measure in _MEASURES]
    kept = [(measure, one) for measure, one in found if one is not None]
    if kept:
        yield f"- {cell.label} less {first.label}: {_listed(kept)}"


def _listed(found: Sequence[tuple[str, Interval]]) -> str:
    return ", ".join(
        f"{measure} **{signed(one, 3)}**" if one.excludes_zero else f"{measure} {signed(one, 3)}"
        for measure, one in found
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
