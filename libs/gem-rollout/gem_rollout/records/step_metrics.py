"""``metrics.csv``: the metrics of a training run, one row per step and one column per metric.

The first column is ``step``. A cell is empty if its step does not have the metric. A *panel* is a
plot of metrics that belong together; the plots of a run and the viewer have the same panels.
"""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gem_core.errors import DataError

__all__ = ["METRICS_FILE", "STEP", "Panel", "panels_of", "read_metrics", "read_table"]

METRICS_FILE = "metrics.csv"
STEP = "step"
_STEP = re.compile("[0-9]{1,15}")
"""Numbers that the page of the viewer can count with."""
_MOST_CURVES = 7


class Panel(NamedTuple):
    """A plot of metrics with the same unit.

    Args:
        title: Its title.
        unit: The unit of the values.
        series: Labels of the curves by the names of the metrics.
        bounds: The range of the values; None if it is open.
    """

    title: str
    unit: str
    series: dict[str, str]
    bounds: tuple[float, float] | None = None


def _both(name: str) -> dict[str, str]:
    return {f"rollout/{name}": "training", f"eval/{name}": "evaluation"}


_PANELS = (
    Panel("Success", "share of episodes", _both("success"), (0, 1)),
    Panel("Return", "sum of rewards of an episode", _both("return")),
    Panel("Entropy", "nats per token", {"train/entropy": "policy"}),
    Panel(
        "Loss",
        "loss",
        {
            "train/loss": "policy",
            "train/value_loss": "critic",
            "validation/loss": "held-out episodes",
        },
    ),
    Panel(
        "KL divergence",
        "nats per token",
        {
            "train/kl_update": "update",
            "train/kl_reference": "to the initial model",
            "train/kl_sampler": "sampler to learner",
        },
    ),
    Panel(
        "Gradient norm",
        "before clipping",
        {"train/grad_norm": "policy", "train/critic_grad_norm": "critic"},
    ),
    Panel("Turns", "turns per episode", _both("turns")),
    Panel("Responses", "tokens per turn", _both("response_tokens")),
    Panel(
        "Sampler and learner",
        "gap of log-probabilities, nats",
        {"train/mean_sampler_gap": "mean", "train/sampler_gap": "largest"},
    ),
    Panel("Learning rate", "per update", {"train/lr": "policy"}),
    Panel(
        "Failures",
        "share of turns or episodes",
        {
            "rollout/format_errors": "turns of a wrong format",
            "rollout/cut": "cut responses",
            "rollout/errors": "episodes with errors",
        },
    ),
    Panel(
        "Time",
        "seconds per step",
        {"time/sample": "sampling", "time/learn": "learning", "time/eval": "evaluation"},
    ),
)


def panels_of(metrics: Iterable[str]) -> list[Panel]:
    """Return the panels that have something to show of metrics with these names.

    With several environments there is a panel of their success; with named parts of the reward,
    one of them.
    """
    names = list(metrics)
    panels = [one for one in _PANELS if any(name in names for name in one.series)]
    panels[1:1] = [*_env_panel(names), *_rewards_panel(names)]
    return panels


def _env_panel(metrics: Iterable[str]) -> list[Panel]:
    head, tail = "rollout/", "/success"
    names = [n for n in metrics if n.startswith(head) and n.endswith(tail) and n.count("/") > 1]
    names = [name for name in names if "/rewards/" not in name]
    series = {name: name[len(head) : -len(tail)] for name in names[:_MOST_CURVES]}
    return [Panel("Success by environment", "share of episodes", series, (0, 1))] if series else []


def _rewards_panel(metrics: Iterable[str]) -> list[Panel]:
    head = "rollout/rewards/"
    names = [name for name in metrics if name.startswith(head)][:_MOST_CURVES]
    series = {name: name.removeprefix(head) for name in names}
    return [Panel("Parts of the reward", "sum over an episode", series)] if series else []


def read_metrics(path: Path) -> dict[str, tuple[list[int], list[float]]]:
    """Read a ``metrics.csv``.

    Args:
        path: The file. An incomplete last line, left by a crash, is ignored.

    Returns:
        For each metric, in the order of the columns: the steps that have it, and its values.

    Raises:
        DataError: The file is not a table of steps and numbers.
        OSError: The file cannot be read.
    """
    columns, rows = read_table(path)
    steps = [int(row[0]) for row in rows]
    found: dict[str, tuple[list[int], list[float]]] = {}
    for at, name in enumerate(columns[1:], start=1):
        cells = [row[at] for row in rows]
        known = [step for step, cell in zip(steps, cells, strict=True) if cell]
        try:
            found[name] = known, [float(cell) for cell in cells if cell]
        except ValueError as error:
            number, cell = next(pair for pair in enumerate(cells, start=2) if _is_odd(pair[1]))
            message = f"{path}, row {number}: {name} is {cell!r}, not a number."
            raise DataError(message) from error
    return found


def _is_odd(cell: str) -> bool:
    try:
        float(cell or 0)
    except ValueError:
        return True
    return False


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the columns of a ``metrics.csv`` and its complete rows, as text.

    Raises:
        DataError: The file is not a table of steps.
        OSError: The file cannot be read.
    """
    text = path.read_bytes().decode("utf-8", "replace")
    if not text:
        return [STEP], []
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise DataError(f"{path} is not a table of metrics: {error}. Repair the file.") from error
    columns = rows.pop(0)
    if not text.endswith("\n") and rows:
        rows.pop()
    if columns[:1] != [STEP] or len(set(columns)) < len(columns):
        raise DataError(
            f"{path} is not a table of metrics: its columns are {columns!r}. The first must be "
            f"{STEP!r}, and no name may occur twice. Move the file, or choose another folder."
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns) or not _STEP.fullmatch(row[0]):
            raise DataError(
                f"{path}, row {number}: expected {len(columns)} cells, the first of them a step; "
                f"got {row!r}. Repair the file, or move it."
            )
    return columns, rows
