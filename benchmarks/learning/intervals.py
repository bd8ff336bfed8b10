"""Intervals over warm starts and seeds.

Runs from one warm start are more alike than runs from different ones, so warm starts are a random
effect with two levels: warm starts, and seeds within each. The runs of a warm start are averaged
first. The interval is Student's t over these averages, with one degree of freedom less than there
are warm starts. Its width contains both levels: the variance of an average is that of warm starts
plus that of seeds divided by their number. A bootstrap over so few warm starts is too narrow.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from scipy.special import stdtrit

__all__ = ["Interval", "difference", "interval", "over_warm_starts", "prediction"]

_CONFIDENCE = 0.95
_Figures = Mapping[str, Any]


class Interval(NamedTuple):
    """A mean and half of its 95 % interval.

    Args:
        mean: The mean over warm starts.
        half: Half of the interval's width; NaN if there is one warm start only.
        starts: Number of warm starts.
        runs: Number of runs.
    """

    mean: float
    half: float
    starts: int
    runs: int

    @property
    def excludes_zero(self) -> bool:
        """Whether zero is outside of the interval."""
        return abs(self.mean) > self.half


def over_warm_starts(runs: Iterable[_Figures], value: Callable[[Any], float]) -> Interval:
    """Return the interval of a value of runs, each of which has a ``start`` and a ``seed``."""
    return interval({(run["start"], run["seed"]): value(run) for run in runs})


def difference(
    runs: Iterable[_Figures], others: Iterable[_Figures], value: Callable[[Any], float]
) -> Interval:
    """Return the interval of the difference of two cells, over the pairs that both have.

    Args:
        runs: Runs of one cell.
        others: Runs of the other; those of the same warm start and seed are paired.
        value: Returns the value of a run.
    """
    found = {(run["start"], run["seed"]): value(run) for run in others}
    return interval(
        {
            key: value(run) - found[key]
            for run in runs
            if (key := (run["start"], run["seed"])) in found
        }
    )


def interval(values: Mapping[tuple[int, int], float]) -> Interval:
    """Return the interval of values by warm start and seed.

    Raises:
        ValueError: ``values`` is empty.
    """
    by_start: dict[int, list[float]] = {}
    for (start, _), value in values.items():
        by_start.setdefault(start, []).append(value)
    if not by_start:
        raise ValueError("There is no run to average.")
    means = [statistics.fmean(one) for one in by_start.values()]
    return Interval(statistics.fmean(means), _half(means), len(means), len(values))


def _half(means: list[float]) -> float:
    count = len(means)
    if count < 2:
        return float("nan")
    return _quantile(count) * statistics.stdev(means) / math.sqrt(count)


def _quantile(starts: int) -> float:
    return float(stdtrit(starts - 1, (1 + _CONFIDENCE) / 2))


def prediction(runs: Iterable[_Figures], value: Callable[[Any], float]) -> Interval:
    """Return the 95 % interval of one more run, from a warm start and a seed that are new.

    The standard deviation is that of single runs. There are as many degrees of freedom as for the
    mean, because the runs of a warm start are alike.

    Raises:
        ValueError: There are fewer than two warm starts.
    """
    kept = list(runs)
    mean = over_warm_starts(kept, value)
    if mean.starts < 2:
        raise ValueError("A prediction needs runs from two warm starts or more.")
    deviation = statistics.stdev(value(run) for run in kept)
    half = _quantile(mean.starts) * deviation * math.sqrt(1 + 1 / mean.starts)
    return mean._replace(half=half)
