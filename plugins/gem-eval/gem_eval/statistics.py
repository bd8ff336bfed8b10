"""Estimates with intervals. Episodes of one task belong together: a task is a cluster.

Every interval is two-sided and lies in the range of the values. A rate has Wilson's interval, any
other mean that of ``gem_eval.likelihood``; both count tasks, not episodes.

The tasks are regarded as drawn from a larger population, and the intervals are those of its mean:
they say what to expect of further tasks like these (E. Miller (2024), "Adding Error Bars to Evals",
arXiv:2411.00640). So they do not shrink to a point if all rows of a dataset were played.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_rollout.episodes.proportions import pass_all, pass_at, wilson, z_quantile

__all__ = [
    "Clusters",
    "Estimate",
    "average",
    "cluster_mean",
    "correlations",
    "ends_around",
    "mean_estimate",
    "pass_all",
    "pass_at",
    "proportion_estimate",
    "t_quantile",
    "wilson",
    "z_quantile",
]

_CLOSE = 1e-9
"""Values that are this close are equal: the rest is rounding."""

Clusters = Sequence[Sequence[float]]
"""Values of episodes, grouped by task. No cluster is empty."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its interval and its standard error.

    Args:
        value: The estimate.
        low: Lower end of the interval; None if it is unknown, as with a single task.
        high: Upper end of the interval; None if it is unknown.
        se: Standard error; None if it is unknown.
        tasks: Number of tasks behind the estimate.
    """

    value: float
    low: float | None
    high: float | None
    se: float | None
    tasks: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        names = ("value", "low", "high", "se", "tasks")
        return {name: getattr(self, name) for name in names}


def t_quantile(confidence: float, degrees: float) -> float:
    """Return t such that [-t, t] has probability ``confidence`` under Student's t.

    Args:
        confidence: In (0, 1).
        degrees: Degrees of freedom, above 0.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - imports five times faster than scipy.stats

    return float(stdtrit(degrees, (1 + confidence) / 2))


def cluster_mean(clusters: Clusters) -> tuple[float, float | None]:
    """Return the mean of all values and its cluster-robust standard error (None for one cluster).

    The sandwich estimator of a mean, with the small-sample factor G/(G-1) for G clusters::

        se^2 = G/(G-1) * sum_g (sum_i (y_gi - mean))^2 / n^2

    K.-Y. Liang and S. L. Zeger (1986), Biometrika 73, 13-22; for evaluations: E. Miller (2024),
    "Adding Error Bars to Evals", arXiv:2411.00640. With one value a cluster it is s/sqrt(n).

    Args:
        clusters: The values; at least one.
    """
    count = sum(map(len, clusters))
    mean = math.fsum(value for cluster in clusters for value in cluster) / count
    groups = len(clusters)
    if groups < 2:
        return mean, None
    squares = math.fsum((math.fsum(c) - mean * len(c)) ** 2 for c in clusters)
    return mean, math.sqrt(groups / (groups - 1) * squares) / count


def mean_estimate(
    clusters: Clusters, confidence: float = 0.95, ends: tuple[float, float] | None = None
) -> Estimate:
    """Estimate a mean, with the interval of ``gem_eval.likelihood.MeanLikelihood``.

    If every value is 0 or 1 and none can be anything else, the mean is a proportion, and has the
    interval of one.

    Args:
        clusters: The values; at least one.
        confidence: In (0, 1).
        ends: The smallest and the largest possible value; None if they are unknown. The range is
            then taken to be twice as wide as that of the values, around it, and the interval of
            equal values is unknown. This is also done if a value is outside of the range.
    """
    values = [value for cluster in clusters for value in cluster]
    if ends in (None, (0, 1)) and all(value in (0, 1) for value in values):
        return proportion_estimate(clusters, confidence)
    mean, se = cluster_mean(clusters)
    around = ends_around(min(values), max(values), ends)
    if se is None or around is None:
        return Estimate(mean, None, None, se, len(clusters))
    from gem_eval.likelihood import MeanLikelihood  # noqa: PLC0415 - imports numpy and scipy

    found = MeanLikelihood.of(clusters, around)
    return Estimate(found.mean, *found.interval(confidence), se, len(clusters))


def ends_around(
    low: float, high: float, known: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return the range that ``mean_estimate`` assumes; None if there is none.

    Args:
        low: The smallest value.
        high: The largest value.
        known: The smallest and the largest possible value; None if they are unknown.
    """
    if known is not None and known[0] - _CLOSE <= low and high <= known[1] + _CLOSE:
        return min(low, known[0]), max(high, known[1])
    span = high - low
    return (low - span / 2, high + span / 2) if span > _CLOSE else None


def proportion_estimate(
    clusters: Clusters, confidence: float = 0.95, trials: int | None = None
) -> Estimate:
    """Estimate the mean of values in [0, 1], such as a success rate.

    With one value of 0 or 1 per cluster this is Wilson's interval. Otherwise it is
    Wilson's interval for the effective number of trials: ``p (1 - p) / se^2`` with the
    cluster-robust standard error, times ``(z / t)^2`` to correct for a small number of clusters,
    but not more than the number of values. If all values are 0, or all are 1, each cluster counts
    as one trial.

    E. L. Korn and B. I. Graubard (1998), Survey Methodology 24, 193-201 (effective sample size);
    C. Franco, R. J. A. Little, T. A. Louis and E. V. Slud (2019), Journal of Survey Statistics and
    Methodology 7, 334-364 (with Wilson's interval).

    Args:
        clusters: The values; at least one.
        confidence: In (0, 1).
        trials: Number of episodes behind the values; None for one episode per value.
    """
    mean, se = cluster_mean(clusters)
    mean = min(1.0, max(0.0, mean))
    count, groups = trials or sum(map(len, clusters)), len(clusters)
    if all(len(c) == 1 and c[0] in (0, 1) for c in clusters):
        size: float = groups
    elif se is None:
        return Estimate(mean, None, None, None, groups)
    elif mean in (0.0, 1.0):
        size = groups
    elif se == 0:
        size = count
    else:
        correction = z_quantile(confidence) / t_quantile(confidence, groups - 1)
        size = min(mean * (1 - mean) / se**2 * correction**2, count)
    low, high = wilson(mean, size, confidence)
    return Estimate(mean, low, high, se, groups)


def correlations(clusters: Sequence[Mapping[Hashable, Sequence[float]]]) -> list[list[float]]:
    """Return the correlations between the means of several environments, a matrix.

    Two means are correlated if the environments ask the same questions: they share clusters. With
    the residual of each cluster, ``r_eg = sum_i (y_egi - mean_e)``, the covariance of two means is
    estimated by ``sum_g r_eg r_fg / (n_e n_f)``, as in ``cluster_mean``. If all residuals of an
    environment are 0, as with a success rate of 1, it cannot be estimated: the correlation is then
    the share of clusters that are shared, its largest value for clusters of one size.

    Args:
        clusters: For each environment, the values of each cluster by the name of the cluster.
    """
    residuals = []
    for named in clusters:
        mean, _ = cluster_mean(list(named.values()))
        residuals.append({key: math.fsum(c) - mean * len(c) for key, c in named.items()})
    sizes = [math.hypot(*one.values()) for one in residuals]

    def correlation(i: int, j: int) -> float:
        shared = residuals[i].keys() & residuals[j].keys()
        if not sizes[i] * sizes[j]:
            return len(shared) / math.sqrt(len(residuals[i]) * len(residuals[j]))
        product = math.fsum(residuals[i][key] * residuals[j][key] for key in shared)
        return product / (sizes[i] * sizes[j])

    count = range(len(residuals))
    return [[1.0 if i == j else correlation(i, j) for j in count] for i in count]


def average(
    estimates: Sequence[Estimate], correlated: Sequence[Sequence[float]] | None = None
) -> Estimate:
    """Average estimates with equal weights: the mean over environments.

    The environments are fixed, not a sample of environments. With ``c_ef`` the correlation of two
    estimates, ``se^2 = sum_ef(c_ef se_e se_f) / E^2``. The ends of the interval are computed from
    those of the estimates, so that it stays in their range:
    ``low = mean - sqrt(sum_ef(c_ef (mean_e - low_e) (mean_f - low_f))) / E``, and ``high``
    correspondingly (G. Y. Zou and A. Donner (2008), Statistics in Medicine 27, 1693-1702; with
    correlations: G. Y. Zou (2007), Psychological Methods 12, 399-413).

    Args:
        estimates: At least one. All intervals have the same confidence level.
        correlated: The correlations between them; None if they are independent.
    """
    count = len(estimates)
    value = math.fsum(one.value for one in estimates) / count
    tasks = sum(one.tasks for one in estimates)
    ends = [(one.value, one.low, one.high, one.se or 0.0) for one in estimates]
    known = [
        (v, low, high, se) for v, low, high, se in ends if low is not None and high is not None
    ]
    if len(known) < count:
        return Estimate(value, None, None, None, tasks)

    def length(parts: Sequence[float]) -> float:
        if correlated is None:
            return math.hypot(*parts) / count
        squares = (
            c * a * b
            for row, a in zip(correlated, parts, strict=True)
            for c, b in zip(row, parts, strict=True)
        )
        return math.sqrt(max(0.0, math.fsum(squares))) / count

    below = length([middle - low for middle, low, _, _ in known])
    above = length([high - middle for middle, _, high, _ in known])
    se = length([error for _, _, _, error in known])
    return Estimate(value, value - below, value + above, se, tasks)
