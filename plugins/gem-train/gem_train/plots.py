"""Curves: of a run as a picture, of several runs as a picture, of numbers as text.

Pictures need matplotlib, and their intervals scipy: ``pip install gem-train[plots]``. Colours are
those of M. Okabe and K. Ito (2008), "Color Universal Design", which can be told apart by all.
"""

import importlib.util
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gem_core.errors import ConfigError, DataError
from gem_train.metrics.csv_file import METRICS_FILE, read_metrics

__all__ = ["Band", "mean_band", "plot_run", "plot_runs", "smoothed", "sparkline", "text_curve"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")
_BLOCKS, _ASCII = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_CONFIDENCE = 0.95
_MOST_ENVS = 7


class _Panel(NamedTuple):
    title: str
    unit: str
    series: dict[str, str]  # label by name of the figure
    bounds: tuple[float, float] | None = None


_PANELS = (
    _Panel(
        "Success",
        "share of episodes",
        {"rollout/success": "training", "eval/success": "evaluation"},
        (0, 1),
    ),
    _Panel(
        "Return",
        "sum of rewards of an episode",
        {"rollout/return": "training", "eval/return": "evaluation"},
    ),
    _Panel(
        "Turns", "turns of an episode", {"rollout/turns": "training", "eval/turns": "evaluation"}
    ),
    _Panel(
        "Responses",
        "tokens of a turn",
        {"rollout/response_tokens": "training", "eval/response_tokens": "evaluation"},
    ),
    _Panel("Entropy", "nats a token", {"train/entropy": "of the policy"}),
    _Panel(
        "KL divergence",
        "nats a token",
        {
            "train/kl_update": "of the update",
            "train/kl_reference": "to the model at the start",
            "train/kl_sampler": "of sampler to learner",
        },
    ),
    _Panel("Loss", "loss", {"train/loss": "policy", "train/value_loss": "critic"}),
)


class Band(NamedTuple):
    """Means over runs, and their intervals.

    Args:
        steps: The steps that all runs have.
        mean: Mean over the runs at each of them.
        low: Lower end of the interval; that of a single run is the mean.
        high: Upper end.
    """

    steps: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


def smoothed(values: Sequence[float], reach: int) -> list[float]:
    """Return the moving average of values, centred, so that it lags behind nothing.

    Near the ends fewer values are averaged, as many on each side: the first and the last value are
    as they were.

    Args:
        values: The values.
        reach: How many are averaged, 1 or more (an even number counts as the next odd one).
    """
    found = []
    for place in range(len(values)):
        side = min(reach // 2, place, len(values) - 1 - place)
        window = values[place - side : place + side + 1]
        found.append(math.fsum(window) / len(window))
    return found


def plot_run(folder: Path) -> Path:
    """Draw the curves of a run.

    Training is smoothed over a twentieth of the run, with the points themselves pale behind it;
    evaluations are drawn as they are. What the run has no figures of is left out.

    Args:
        folder: The run's folder, with ``metrics.csv``.

    Returns:
        The picture, ``curves.png`` in the same folder.

    Raises:
        ConfigError: matplotlib is missing.
        DataError: There are no figures to draw.
    """
    figures = _figures_of(folder / METRICS_FILE)
    panels = [one for one in _PANELS if any(name in figures for name in one.series)]
    panels[1:1] = _env_panel(figures)
    if not panels:
        raise DataError(f"{folder / METRICS_FILE} has no figures that could be drawn.")
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    picture = _picture(4.6 * columns, 3.2 * rows + 0.4)
    for place, panel in enumerate(panels, start=1):
        _draw_panel(picture.add_subplot(rows, columns, place), panel, figures)
    most = max(len(steps) for steps, _ in figures.values())
    reach = f", curves smoothed over {_reach(most)} steps" if _reach(most) > 1 else ""
    picture.suptitle(f"{folder.resolve().name}{reach}", fontsize="medium")
    return _save(picture, folder / "curves.png")


def _figures_of(path: Path) -> dict[str, tuple[list[int], list[float]]]:
    try:
        figures = read_metrics(path)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: the run has written no figures.") from error
    found = {}
    for name, (steps, values) in figures.items():
        finite = [pair for pair in zip(steps, values, strict=True) if math.isfinite(pair[1])]
        if finite:
            found[name] = [step for step, _ in finite], [value for _, value in finite]
    return found


def _env_panel(figures: Mapping[str, Any]) -> list[_Panel]:
    """Return a panel with the success in each environment, if there are several."""
    head, tail = "rollout/", "/success"
    names = [n for n in figures if n.startswith(head) and n.endswith(tail) and n.count("/") > 1]
    series = {name: name[len(head) : -len(tail)] for name in names[:_MOST_ENVS]}
    return [_Panel("Success by environment", "share of episodes", series, (0, 1))] if series else []


def _draw_panel(axes: Any, panel: _Panel, figures: Mapping[str, Any]) -> None:
    present = {name: label for name, label in panel.series.items() if name in figures}
    for number, (name, label) in enumerate(present.items()):
        steps, values = figures[name]
        colour = _COLOURS[number % len(_COLOURS)]
        if name.startswith("eval/"):
            axes.plot(steps, values, "o-", color=_COLOURS[1], markersize=4, label=label)
            continue
        reach = _reach(len(values))
        if reach > 1:
            axes.plot(steps, values, ".", color=colour, alpha=0.25, markersize=3)
        line = {"color": colour, "label": label, **_line(number, len(values))}
        axes.plot(steps, smoothed(values, reach), **line)
    _dress(axes, panel.title, panel.unit, panel.bounds)
    if len(present) > 1 or next(iter(present)).startswith("eval/"):
        axes.legend(fontsize="small", framealpha=0.6)


def _line(number: int, count: int) -> dict[str, Any]:
    """Return how the curve of a number, with so many values, is drawn."""
    style = _STYLES[number % len(_STYLES)]
    return {"linestyle": style, "lw": 1.8, "marker": "o" if count < 10 else "", "markersize": 4}


def _reach(count: int) -> int:
    return count // 20 | 1


def plot_runs(
    runs: Mapping[str, Sequence[Path]], metric: str, path: Path, *, title: str = "", reach: int = 1
) -> Path:
    """Draw a figure of several runs: mean and 95 % interval over the seeds of each label.

    Args:
        runs: The ``metrics.csv`` of the runs of each label, which differ in their seeds.
        metric: Name of the figure, such as ``rollout/success``.
        path: Where the picture goes; its ending says its format.
        title: What is written above it; empty for the name of the figure.
        reach: Steps that each run is smoothed over first; 1 for none.

    Returns:
        ``path``.

    Raises:
        ConfigError: matplotlib or scipy is missing.
        DataError: A run does not have the figure, or runs of a label have no step in common.
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
    _dress(axes, title or metric, unit, (0, 1) if is_share else None)
    axes.legend(fontsize="small", framealpha=0.6, title="mean, 95 % interval", title_fontsize=8)
    return _save(picture, path)


def mean_band(files: Sequence[Path], metric: str, *, reach: int = 1) -> Band:
    """Return the mean of a figure over runs, with the 95 % interval of Student's t.

    Args:
        files: The ``metrics.csv`` of each run.
        metric: Name of the figure.
        reach: Steps that each run is smoothed over first; 1 for none.

    Raises:
        ConfigError: scipy is missing.
        DataError: A run does not have the figure, or the runs have no step in common.
    """
    curves = []
    for file in files:
        figures = _figures_of(file)
        if metric not in figures:
            known = ", ".join(figures) or "none"
            raise DataError(f"{file} has no figures of {metric!r}; it has: {known}.")
        steps, values = figures[metric]
        curves.append(dict(zip(steps, smoothed(values, reach), strict=True)))
    common = sorted(set.intersection(*map(set, curves))) if curves else []
    if not common:
        raise DataError(f"No step has {metric!r} in all of {', '.join(map(str, files)) or 'none'}.")
    ends = [_interval([curve[step] for curve in curves]) for step in common]
    mean, low, high = ([one[place] for one in ends] for place in range(3))
    return Band(common, mean, low, high)


def _interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return mean, and mean -/+ t s / sqrt(n) with n - 1 degrees of freedom."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, mean, mean
    _need("scipy")
    from scipy.special import stdtrit  # noqa: PLC0415 - only pictures need it

    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = float(stdtrit(count - 1, (1 + _CONFIDENCE) / 2)) * math.sqrt(variance / count)
    return mean, mean - half, mean + half


def _need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ConfigError(f"Pictures need {package}: pip install gem-train[plots].")


def _picture(width: float, height: float) -> Any:
    _need("matplotlib")
    from matplotlib.figure import Figure  # noqa: PLC0415 - only pictures need it

    # Without pyplot, a figure draws with Agg: no display is needed, and none is opened.
    return Figure(figsize=(width, height), layout="constrained")


def _dress(axes: Any, title: str, unit: str, bounds: tuple[float, float] | None) -> None:
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
    """Return a curve as lines of plain characters, the axis with its ends at the left.

    A column is the mean of as many values as it takes. Three characters for the lower, middle and
    upper part of a line make the curve finer than the lines.

    Args:
        values: The values; those that are not finite are left out.
        width: Most columns of the curve, 1 or more.
        height: Lines of the curve, 2 or more.

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
    places = [round((mean - low) / (high - low) * fine) if high > low else 0 for mean in means]
    ends = {height - 1: f"{high:.4g}", 0: f"{low:.4g}"}
    room = max(map(len, ends.values()))
    lines = [
        f"{ends.get(row, ''):>{room}} |"
        + "".join("_-'"[place % 3] if place // 3 == row else " " for place in places).rstrip()
        for row in reversed(range(height))
    ]
    return "\n".join([*lines, f"{'':>{room}} +{'-' * len(means)}"])


def sparkline(values: Sequence[float], width: int = 40, *, ascii_only: bool = False) -> str:
    """Return values as a row of characters whose heights go from the least to the greatest.

    Args:
        values: Finite numbers, at least one.
        width: Most characters, 1 or more; each is the mean of as many values as it takes.
        ascii_only: Without the block characters.
    """
    levels = _ASCII if ascii_only else _BLOCKS
    means = _means(values, width)
    low, high = min(means), max(means)
    if high == low:
        return levels[len(levels) // 2] * len(means)
    top = len(levels) - 1
    return "".join(levels[round((mean - low) / (high - low) * top)] for mean in means)


def _means(values: Sequence[float], width: int) -> list[float]:
    """Return the means of at most ``width`` parts of values, of nearly the same size."""
    count = min(width, len(values))
    edges = [len(values) * place // count for place in range(count + 1)]
    return [
        math.fsum(values[first:end]) / (end - first) for first, end in itertools.pairwise(edges)
    ]
