"""The curves of training runs: the metrics of each step, and the episodes that steps lead to.

Runs with the same settings, but other seeds, are a *group*. The page draws a group as the mean of
its runs with the 95 % interval of Student's t.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gem_eval.statistics import t_quantile
from gem_eval.view.overview import CONFIDENCE, figures_by_step
from gem_rollout.records.runs import Run
from gem_rollout.records.step_metrics import METRICS_FILE, Panel, panels_of, read_metrics

if TYPE_CHECKING:
    from gem_eval.view.store import Store

__all__ = ["training"]

Row = dict[str, Any]

_NOT_SETTINGS = {
    *("seed", "out", "resume", "device", "threads", "log", "writers", "checkpoint", "eval"),
    *("agent", "executor", "progress"),
}
"""Keys of a configuration in which the runs of a group may differ."""


def training(store: "Store", *, every: bool = False) -> Row:
    """Return the curves of the runs that have metrics.

    Args:
        store: The runs.
        every: Whether to return all metrics, and not only those of the usual panels.

    Returns:
        ``panels`` (title, unit, bounds and series: labels by metric), ``further`` (the number of
        metrics that are left out), ``runs`` (source, label, group, steps, and ``metrics``: a value
        or None for each step), ``groups`` (labels), ``quantiles`` (of Student's t by the number of
        runs) and ``logged`` (figures of the recorded episodes by source, step and whether they are
        of an evaluation).
    """
    read = {number: _table(store.sources[number], *state) for number, *state in store.metrics}
    names = list(dict.fromkeys(name for _, metrics in read.values() for name in metrics))
    panels = panels_of(names)
    usual = {name for panel in panels for name in panel.series}
    further = [name for name in names if name not in usual]
    if every:
        panels += [Panel(name, "", {name: name.rpartition("/")[2]}) for name in further]
        usual |= set(further)
    groups, members = _groups([store.sources[number] for number in read])
    return {
        "panels": [panel._asdict() for panel in panels],
        "further": 0 if every else len(further),
        "runs": [
            {
                "source": number,
                "label": store.labels[number],
                "group": group,
                "steps": steps,
                "metrics": {name: of for name, of in metrics.items() if name in usual},
            }
            for (number, (steps, metrics)), group in zip(read.items(), members, strict=True)
        ],
        "groups": groups,
        "quantiles": {n: t_quantile(CONFIDENCE, n - 1) for n in range(2, len(read) + 1)},
        "logged": figures_by_step(store),
    }


@lru_cache(maxsize=16)
def _table(run: Run, *_: int) -> tuple[list[int], dict[str, list[float | None]]]:
    """Return the steps of a run, and for each metric its values; None for what is not known.

    Args:
        run: The run.
        _: What changes with the file of its metrics.
    """
    found = read_metrics(run.path / METRICS_FILE)
    steps = sorted(set().union(*(known for known, _ in found.values())))
    place = {step: at for at, step in enumerate(steps)}
    metrics: dict[str, list[float | None]] = {}
    for name, (known, values) in found.items():
        row: list[float | None] = [None] * len(steps)
        for step, value in zip(known, values, strict=True):
            if math.isfinite(value):
                row[place[step]] = value
                metrics[name] = row
    return steps, metrics


def _groups(runs: Sequence[Run]) -> tuple[list[str], list[int]]:
    """Return the labels of the groups, and the number of the group of each run."""
    settings = [_settings(run) for run in runs]
    # Runs of which no settings are known are not taken for the same.
    keys = [json.dumps(one or at, sort_keys=True) for at, one in enumerate(settings)]
    distinct = list(dict.fromkeys(keys))
    members = [distinct.index(key) for key in keys]
    sizes = Counter(members)
    first = [settings[members.index(group)] for group in range(len(distinct))]
    return _labels(first) if max(sizes.values(), default=1) > 1 else [""] * len(first), members


def _settings(run: Run) -> dict[str, Any]:
    config = run.info().get("config")
    if not isinstance(config, Mapping):
        return {}
    kept = {key: value for key, value in config.items() if key not in _NOT_SETTINGS}
    return dict(_flat(kept, ""))


def _flat(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(item, f"{place}.{key}" if place else str(key))
    else:
        yield place.removesuffix(".id"), value


def _labels(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what distinguishes settings: as few of the keys that differ as suffice, ids first."""
    keys = dict.fromkeys(key for one in settings for key in one)
    differ = [key for key in keys if len({repr(one.get(key)) for one in settings}) > 1]
    differ.sort(key=lambda key: "." in key)
    labels = [""] * len(settings)
    for count in range(1, len(differ) + 1):
        named = differ[:count]
        labels = [", ".join(f"{key}={one[key]}" for key in named if key in one) for one in settings]
        if len(set(labels)) == len(labels):
            break
    return labels
