"""Curves of the cells of a study: means over warm starts, with their 95 % intervals."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gem_train.plots import smoothed
from learning.intervals import Interval, over_warm_starts

__all__ = ["plot_curves", "plot_grid"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_REACH = 5
_COLUMNS = 3


def plot_curves(
    cells: Mapping[str, Sequence[Mapping[str, Any]]], measure: str, path: Path, *, title: str
) -> None:
    """Draw a measure of each step.

    Args:
        cells: The runs of each cell, by its label.
        measure: ``return``, ``success`` or ``turns``.
        path: The file to write.
        title: Title of the plot.
    """
    figure = Figure(figsize=(6.4, 3.8), dpi=80, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, (label, runs) in enumerate(cells.items()):
        _draw(axes, runs, measure, _COLOURS[number % len(_COLOURS)], label)
    axes.set(title=title, xlabel="step", ylabel=f"{measure}, mean and 95 % interval")
    axes.legend(fontsize="small", framealpha=0.6)
    figure.savefig(path)


def plot_grid(cells: Mapping[str, Sequence[Mapping[str, Any]]], measure: str, path: Path) -> None:
    """Draw a measure of each step, each cell in a panel of its own.

    Args:
        cells: The runs of each cell, by the title of its panel.
        measure: ``return``, ``success`` or ``turns``.
        path: The file to write.
    """
    rows = math.ceil(len(cells) / _COLUMNS)
    figure = Figure(figsize=(8.4, 2.1 * rows + 0.3), dpi=80, layout="constrained")
    FigureCanvasAgg(figure)
    for number, (title, runs) in enumerate(cells.items(), start=1):
        axes = figure.add_subplot(rows, _COLUMNS, number)
        _draw(axes, runs, measure, _COLOURS[0], title)
        axes.set_title(title, fontsize="small")
        axes.tick_params(labelsize="x-small")
    figure.supxlabel("step", fontsize="small")
    figure.supylabel(f"{measure}, mean and 95 % interval", fontsize="small")
    figure.savefig(path)


def _draw(
    axes: Any, runs: Sequence[Mapping[str, Any]], measure: str, colour: str, label: str
) -> None:
    bands = _bands(runs, measure)
    steps = range(1, len(bands) + 1)
    axes.plot(steps, [one.mean for one in bands], color=colour, label=label)
    low, high = zip(*((one.mean - one.half, one.mean + one.half) for one in bands), strict=True)
    axes.fill_between(steps, low, high, color=colour, alpha=0.12, lw=0)
    axes.grid(alpha=0.3)


def _bands(runs: Sequence[Mapping[str, Any]], measure: str) -> list[Interval]:
    curves = [{**run, "curve": smoothed(run["curves"][measure], _REACH)} for run in runs]
    steps = min(len(one["curve"]) for one in curves)
    return [over_warm_starts(curves, partial(_at, step)) for step in range(steps)]


def _at(step: int, run: Mapping[str, Any]) -> float:
    return float(run["curve"][step])
