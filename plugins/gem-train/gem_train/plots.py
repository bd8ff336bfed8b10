"""Learning curves: plots of one run or of several, and curves in plain text.

Plots need matplotlib, and their intervals scipy: ``pip install gem-train[plots]``. The palette is
that of M. Okabe and K. Ito (2008), "Color Universal Design", which suits colour-blind readers.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gem_core.errors import ConfigError, DataError
from gem_core.extras import require
from gem_rollout.records.step_metrics import METRICS_FILE, Panel, panels_of, read_metrics

__all__ = [
    "Band",
    "mean_band",
    "plot_run",
    "plot_runs",
    "smoothed",
    "sparkline",
    "text_curve",
]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")
_BLOCKS, _ASCII = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_CONFIDENCE = 0.95


class Band(NamedTuple):
    """Means over runs with confidence intervals.

    Args:
        steps: The steps that all runs have.
        mean: Mean over the runs at each step.
        low: Lower end of the interval; equal to the mean for a single run.
        high: Upper end of the interval.
    """

    steps: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


def smoothed(values: Sequence[float], reach: int) -> list[float]:
    """Return the centred moving average of values.

    Near the ends, the window shrinks on both sides: the first and the last value are unchanged.

    Args:
        values: The values.
        reach: Length of the window, 1 or more; an even length counts as the next odd one.
    """
    averages = []
    for at in range(len(values)):
        side = min(reach // 2, at, len(values) - 1 - at)
        window = values[at - side : at + side + 1]
        averages.append(math.fsum(window) / len(window))
    return averages


def plot_run(folder: Path) -> Path:
    """Draw the curves of a run.

    Training curves are smoothed over a twentieth of the run, with the original points in a pale
    colour; evaluations are not smoothed. Metrics that the run does not have are left out.

    Args:
        folder: The run's folder, with ``metrics.csv``.

    Returns:
        The path of the plot, ``curves.png`` in the same folder.

    Raises:
        ConfigError: matplotlib is not installed.
        DataError: There are no metrics to draw.
    """
    metrics = _finite_metrics(folder / METRICS_FILE)
    panels = panels_of(metrics)
    if not panels:
        raise DataError(f"{folder / METRICS_FILE} has no metrics that could be drawn.")
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    picture = _picture(4.6 * columns, 3.2 * rows + 0.4)
    for number, panel in enumerate(panels, start=1):
        _draw_panel(picture.add_subplot(rows, columns, number), panel, metrics)
    most = max(len(steps) for steps, _ in metrics.values())
    reach = f", curves smoothed over {_reach(most)} steps" if _reach(most) > 1 else ""
    picture.suptitle(f"{folder.resolve().name}{reach}", fontsize="medium")
    return _save(picture, folder / "curves.png")


def _finite_metrics(path: Path) -> dict[str, tuple[list[int], list[float]]]:
    try:
        metrics = read_metrics(path)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: the run has written no metrics.") from error
    found = {}
    for name, (steps, values) in metrics.items():
        finite = [pair for pair in zip(steps, values, strict=True) if math.isfinite(pair[1])]
        if finite:
            found[name] = [step for step, _ in finite], [value for _, value in finite]
    return found


def _draw_panel(axes: Any, panel: Panel, metrics: Mapping[str, Any]) -> None:
    present = {name: label for name, label in panel.series.items() if name in metrics}
    for number, (name, label) in enumerate(present.items()):
        steps, values = metrics[name]
        colour = _COLOURS[number % len(_COLOURS)]
        if name.startswith("eval/"):
            axes.plot(steps, values, "o-", color=_COLOURS[1], markersize=4, label=label)
            continue
        reach = _reach(len(values))
        if reach > 1:
            axes.plot(steps, values, ".", color=colour, alpha=0.25, markersize=3)
        line = {"color": colour, "label": label, **_line(number, len(values))}
        axes.plot(steps, smoothed(values, reach), **line)
    _label_axes(axes, panel.title, panel.unit, panel.bounds)
    if len(present) > 1 or next(iter(present)).startswith("eval/"):
        axes.legend(fontsize="small", framealpha=0.6)


def _line(number: int, count: int) -> dict[str, Any]:
    """Return the line options of the curve with this number and count of values."""
    style = _STYLES[number % len(_STYLES)]
    return {"linestyle": style, "lw": 1.8, "marker": "o" if count < 10 else "", "markersize": 4}


def _reach(count: int) -> int:
    return count // 20 | 1


def plot_runs(
    runs: Mapping[str, Sequence[Path]], metric: str, path: Path, *, title: str = "", reach: int = 1
) -> Path:
    """Draw a metric of several runs: mean and 95 % interval over the seeds of each label.

    Args:
        runs: The ``metrics.csv`` of the runs of each label, which differ in their seeds.
        metric: Name of the metric, such as ``rollout/success``.
        path: The file to write; its suffix determines the format.
        title: Title of the plot; empty for the name of the metric.
        reach: Number of steps that each run is smoothed over first; 1 for none.

    Returns:
        ``path``.

    Raises:
        ConfigError: matplotlib or scipy is not installed.
        DataError: A run does not have the metric, or the runs of a label have no step in common.
    """
    picture = _picture(6.4, 4.0)
    axes = picture.add_subplot()
    for number, (label, files) in enumerate(runs.items()):
        band = mean_band(files, metric, reach=reach)
        colour = _COLOURS[number % len(_COLOURS)]
        text = f"{label} ({len(files)} {'seed' if len(files) == 1 else 'seeds'})"
        line = {"color": colour, "label": text, **_line(number, len(band.steps))}
        axes.plot(band.steps, band.mean, **line)
        axes.fill_between(band.steps, band.low, band.high, color=colour, alpha=0.18, lw=0)
    is_share = metric.endswith("/success")
    unit = "share of episodes" if is_share else metric.rpartition("/")[2].replace("_", " ")
    _label_axes(axes, title or metric, unit, (0, 1) if is_share else None)
    axes.legend(fontsize="small", framealpha=0.6, title="mean, 95 % interval", title_fontsize=8)
    return _save(picture, path)


def mean_band(files: Sequence[Path], metric: str, *, reach: int = 1) -> Band:
    """Return the mean of a metric over runs, with the 95 % interval of Student's t.

    Args:
        files: The ``metrics.csv`` of each run.
        metric: Name of the metric.
        reach: Number of steps that each run is smoothed over first; 1 for none.

    Raises:
        ConfigError: scipy is not installed.
        DataError: A run does not have the metric, or the runs have no step in common.
    """
    curves = []
    for file in files:
        metrics = _finite_metrics(file)
        if metric not in metrics:
            known = ", ".join(metrics) or "none"
            raise DataError(f"{file} has no metric {metric!r}; it has: {known}.")
        steps, values = metrics[metric]
        curves.append(dict(zip(steps, smoothed(values, reach), strict=True)))
    common = sorted(set.intersection(*map(set, curves))) if curves else []
    if not common:
        raise DataError(f"No step has {metric!r} in all of {', '.join(map(str, files)) or 'none'}.")
    means, lows, highs = zip(
        *(_interval([one[step] for one in curves]) for step in common), strict=True
    )
    return Band(common, list(means), list(lows), list(highs))


def _interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return mean, and mean -/+ t s / sqrt(n) with n - 1 degrees of freedom."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, mean, mean
    require("gem-train[plots]", "A plot")
    from scipy.special import stdtrit  # noqa: PLC0415 - optional

    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = float(stdtrit(count - 1, (1 + _CONFIDENCE) / 2)) * math.sqrt(variance / count)
    return mean, mean - half, mean + half


def _picture(width: float, height: float) -> Any:
    require("gem-train[plots]", "A plot")
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    # Without pyplot, a Figure draws with Agg and needs no display.
    return Figure(figsize=(width, height), layout="constrained")


def _label_axes(axes: Any, title: str, unit: str, bounds: tuple[float, float] | None) -> None:
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("training steps")
    axes.set_ylabel(unit)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if bounds is not None:
        margin = (bounds[1] - bounds[0]) * 0.03
        axes.set_ylim(bounds[0] - margin, bounds[1] + margin)


def _save(picture: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=150)
    return path


def text_curve(values: Sequence[float], width: int = 60, height: int = 10) -> str:
    """Return a curve as lines of plain characters, with an axis at the left.

    If there are more values than columns, each column is a mean of several values. Three characters
    for the lower, middle and upper part of a line triple the vertical resolution.

    Args:
        values: The values; those that are not finite are left out.
        width: Most columns of the curve, 1 or more.
        height: Number of lines of the curve, 2 or more.

    Raises:
        ConfigError: Width or height is too small.
    """
    if width < 1 or height < 2:
        raise ConfigError(f"A curve needs width >= 1 and height >= 2, got {width} and {height}.")
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return "(no values)"
    means = _means(finite, width)
    low, high = min(means), max(means)
    fine = 3 * height - 1
    heights = [round((mean - low) / (high - low) * fine) if high > low else 0 for mean in means]
    ends = {height - 1: f"{high:.4g}", 0: f"{low:.4g}"}
    room = max(map(len, ends.values()))
    lines = [
        f"{ends.get(row, ''):>{room}} |"
        + "".join("_-'"[one % 3] if one // 3 == row else " " for one in heights).rstrip()
        for row in reversed(range(height))
    ]
    return "\n".join([*lines, f"{'':>{room}} +{'-' * len(means)}"])


def sparkline(values: Sequence[float], width: int = 40, *, ascii_only: bool = False) -> str:
    """Return values as a row of characters of different heights.

    Args:
        values: Finite numbers, at least one.
        width: Most characters, 1 or more; with more values, each character shows a mean.
        ascii_only: Whether to avoid block characters.
    """
    levels = _ASCII if ascii_only else _BLOCKS
    means = _means(values, width)
    low, high = min(means), max(means)
    if high == low:
        return levels[len(levels) // 2] * len(means)
    top = len(levels) - 1
    return "".join(levels[round((mean - low) / (high - low) * top)] for mean in means)


def _means(values: Sequence[float], width: int) -> list[float]:
    """Return the means of at most ``width`` parts of nearly the same size."""
    count = min(width, len(values))
    edges = [len(values) * part // count for part in range(count + 1)]
    return [
        math.fsum(values[first:end]) / (end - first) for first, end in itertools.pairwise(edges)
    ]
