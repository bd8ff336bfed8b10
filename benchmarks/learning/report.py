"""Tables, plots and CSV files of the learning curves."""

import csv
import statistics
from collections.abc import Sequence
from pathlib import Path

from scipy.special import stdtrit

from gem_train.metrics import read_metrics
from gem_train.plots import plot_runs
from learning.tasks import Run, folder_of

__all__ = ["write_report"]

_COLUMNS = ("rollout/success", "rollout/return", "rollout/turns", "rollout/response_tokens")
_FIRST, _LAST = 5, 10
_HEADINGS = (
    "",
    "seeds",
    "success, start",
    "success, end",
    "success, whole",
    "turns, start",
    "turns, end",
    "return, end",
)
_Curves = dict[str, list[float]]


def write_report(runs: Sequence[Run], folder: Path, results: Path, *, seeds: int) -> None:
    """Write the finished runs of each figure: curves as CSV, plots, and a page with tables."""
    lines = ["# Learning curves", "", _HOW, ""]
    for figure in dict.fromkeys(run.figure for run in runs):
        curves: dict[str, list[_Curves]] = {}
        files: dict[str, list[Path]] = {}
        for run in (one for one in runs if one.figure == figure):
            for seed in range(seeds):
                source = folder_of(run, seed, folder)
                if not (source / "model" / "config.json").is_file():
                    continue
                found = _read(source / "metrics.csv")
                name = f"{run.label.replace(' ', '-')}-{seed}.csv"
                curves.setdefault(run.label, []).append(found)
                files.setdefault(run.label, []).append(_keep(found, results / figure / name))
        if curves:
            lines += _section(figure, curves, files, results)
    (results / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


_HOW = f"""\
Mean over seeds ± half of the 95 % interval of Student's t over the seeds. *Start* is
the mean of the first {_FIRST} steps, *end* that of the last {_LAST}, *whole* that of all steps.
Differences are of the same seeds. 64 episodes a step, one update a step; all runs of a task begin
with the same model. `python benchmarks/run.py learning` makes all of it."""


def _read(path: Path) -> _Curves:
    found = read_metrics(path)
    return {name: found[name][1] for name in _COLUMNS}


def _keep(curves: _Curves, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["step", *curves])
        for step, row in enumerate(zip(*curves.values(), strict=True), start=1):
            writer.writerow([step, *(round(value, 5) for value in row)])
    return path


def _section(
    figure: str, curves: dict[str, list[_Curves]], files: dict[str, list[Path]], results: Path
) -> list[str]:
    lines = [
        f"## {figure}",
        "",
        f"| {' | '.join(_HEADINGS)} |",
        "|---" * len(_HEADINGS) + "|",
    ]
    for label, seeds in curves.items():
        cells = [
            _said([_start(one["rollout/success"]) for one in seeds]),
            _said([_end(one["rollout/success"]) for one in seeds]),
            _said([statistics.fmean(one["rollout/success"]) for one in seeds]),
            _said([_start(one["rollout/turns"]) for one in seeds], 2),
            _said([_end(one["rollout/turns"]) for one in seeds], 2),
            _said([_end(one["rollout/return"]) for one in seeds]),
        ]
        lines.append(f"| {label} | {len(seeds)} | {' | '.join(cells)} |")
    lines += ["", *_differences(curves), ""]
    for metric in ("success", "turns"):
        name = f"{figure}-{metric}.png"
        plot_runs(files, f"rollout/{metric}", results / name, title=figure, reach=9)
        lines.append(f"![{metric} of {figure}]({name})")
    return [*lines, ""]


def _differences(curves: dict[str, list[_Curves]]) -> list[str]:
    """Return a line for each label against the first one, on the seeds that both have."""
    first, *others = curves
    lines = []
    for label in others:
        pairs = list(zip(curves[label], curves[first], strict=False))
        parts = []
        for what, metric, part in (
            ("success at the end", "rollout/success", _end),
            ("in all", "rollout/success", statistics.fmean),
            ("turns at the end", "rollout/turns", _end),
        ):
            differences = [part(one[metric]) - part(other[metric]) for one, other in pairs]
            parts.append(f"{what} {_said(differences, signed=True)}")
        lines.append(f"- {label} less {first}: {', '.join(parts)}")
    return lines


def _start(values: list[float]) -> float:
    return statistics.fmean(values[:_FIRST])


def _end(values: list[float]) -> float:
    return statistics.fmean(values[-_LAST:])


def _said(values: list[float], digits: int = 3, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    mean = f"{statistics.fmean(values):{sign}.{digits}f}"
    if len(values) < 2:
        return mean
    count = len(values)
    half = float(stdtrit(count - 1, 0.975)) * statistics.stdev(values) / count**0.5
    return f"{mean} ± {half:.{digits}f}"
