"""Paired statistics: two agents on the same tasks.

A difference is the second agent's mean on a task minus the first agent's. Importing this module
imports ``scipy.stats``.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import optimize, stats

from gem_core.errors import ConfigError
from gem_eval.statistics import Clusters, Estimate, cluster_mean, t_quantile, z_quantile

__all__ = [
    "binary_difference",
    "detectable_difference",
    "holm",
    "mcnemar_exact",
    "mean_difference",
    "power_of",
    "required_pairs",
    "sign_flip_test",
    "standard_deviation",
]

RESAMPLES = 19_999
EXACT_UP_TO = 14
"""Up to this number of differences other than 0, all assignments of signs are enumerated."""
_CELLS = 2_000_000
"""The largest number of values in one draw."""
LARGEST = 10**18


def mean_difference(
    clusters: Clusters, confidence: float = 0.95, most: float = math.inf
) -> Estimate:
    """Estimate the mean of paired differences, with the paired t interval, clustered by question.

    Args:
        clusters: The differences, one for each pair; at least one.
        confidence: In (0, 1).
        most: The largest possible absolute difference, which bounds the interval.
    """
    mean, se = cluster_mean(clusters)
    if se is None:
        return Estimate(mean, None, None, None, len(clusters))
    half = t_quantile(confidence, len(clusters) - 1) * se if se else 0.0
    return Estimate(mean, max(mean - half, -most), min(mean + half, most), se, len(clusters))


def binary_difference(differences: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Estimate the mean of paired differences of -1, 0 and 1.

    The interval is the adjusted Wald interval of D. G. Bonett and R. M. Price (2012), Journal of
    Educational and Behavioral Statistics 37, 479-488: one pair of each discordant kind is added, so
    that it keeps its coverage for few pairs, and has a width above 0 if no pair differs.

    Args:
        differences: One for each pair; at least one.
        confidence: In (0, 1).
    """
    count = len(differences)
    better, worse = _discordant(differences)
    gain, loss = (better + 1) / (count + 2), (worse + 1) / (count + 2)
    se = math.sqrt((gain + loss - (gain - loss) ** 2) / (count + 2))
    half = z_quantile(confidence) * se
    low, high = max(-1.0, gain - loss - half), min(1.0, gain - loss + half)
    return Estimate((better - worse) / count, low, high, se, count)


def _discordant(differences: Sequence[float]) -> tuple[int, int]:
    return sum(one > 0 for one in differences), sum(one < 0 for one in differences)


def standard_deviation(clusters: Clusters, *, binary: bool) -> float | None:
    """Return the standard deviation of differences, for power analysis; None if unknown.

    With several differences in a cluster, it is the standard error of their mean times the root of
    the number of clusters. Binary differences are adjusted as in ``binary_difference``, so that the
    result is never 0.

    Args:
        clusters: The differences, one for each pair.
        binary: Whether each is -1, 0 or 1, and alone in its cluster.
    """
    count = len(clusters)
    if binary:
        better, worse = _discordant([one for own in clusters for one in own])
        gain, loss = (better + 1) / (count + 2), (worse + 1) / (count + 2)
        return math.sqrt(gain + loss - (gain - loss) ** 2)
    deviation = (cluster_mean(clusters)[1] or 0.0) * math.sqrt(count)
    return deviation if deviation > 1e-12 else None


def mcnemar_exact(better: int, worse: int) -> float:
    """Return the two-sided p-value of McNemar's exact test on the numbers of discordant pairs.

    Q. McNemar (1947), Psychometrika 12, 153-157; the exact form is the binomial test.

    Args:
        better: Pairs in which only the second succeeded.
        worse: Pairs in which only the first did.
    """
    if better + worse == 0:
        return 1.0
    return float(stats.binomtest(better, better + worse, 0.5).pvalue)


def sign_flip_test(differences: Sequence[float], seed: int = 0) -> tuple[float, bool]:
    """Test whether paired differences are symmetric about 0, by flipping their signs.

    The permutation test of paired samples (R. A. Fisher, "The Design of Experiments", 1935, sec.
    21), with the mean as its statistic. Up to 14 differences other than 0 all signs are enumerated
    (``scipy.stats.permutation_test``). With more, 19,999 assignments are drawn, and the observed
    one counts among them (B. Phipson and G. K. Smyth, 2010), so that the p-value is never 0.

    Differences that are not independent are added up, and have one sign (I. A. Canay, J. P. Romano
    and A. M. Shaikh (2017), Econometrica 85, 1013-1030).

    Args:
        differences: One for each pair, or the sum of each cluster of pairs.
        seed: Seed of the draw.

    Returns:
        The two-sided p-value, and whether it is exact.
    """
    moved = np.array([one for one in differences if one != 0], dtype=float)
    if len(moved) < 2:
        return 1.0, True  # both signs of a single difference are equally far from 0
    if len(moved) > EXACT_UP_TO:
        return _drawn_sign_flips(moved, seed), False
    found = stats.permutation_test(
        (moved,), np.mean, permutation_type="samples", n_resamples=2**EXACT_UP_TO, vectorized=True
    )
    return min(1.0, float(found.pvalue)), True


def _drawn_sign_flips(moved: "np.ndarray[Any, Any]", seed: int) -> float:
    """Return the p-value from randomly drawn signs.

    Differences of the same size are drawn together, as the number of positive ones is binomial.
    Differences of success rates have few sizes, and this is a hundred times faster than scipy.
    """
    rng = np.random.default_rng(seed)
    sizes, counts = np.unique(np.abs(moved).round(12), return_counts=True)
    observed = abs(moved.sum()) - 1e-9 * sizes.max()
    batch = max(1, _CELLS // len(sizes))
    beyond = 0
    for start in range(0, RESAMPLES, batch):
        rows = min(batch, RESAMPLES - start)
        positive = rng.binomial(counts, 0.5, size=(rows, len(sizes)))
        beyond += int(np.sum(np.abs((2 * positive - counts) @ sizes) >= observed))
    return (beyond + 1) / (RESAMPLES + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple testing by Holm's step-down method.

    S. Holm (1979), Scandinavian Journal of Statistics 6, 65-70. It controls the family-wise error
    rate for any dependence between the tests.
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def power_of(pairs: int, difference: float, deviation: float, confidence: float = 0.95) -> float:
    """Return the power of a two-sided paired t test.

    The noncentral t distribution with ``pairs - 1`` degrees of freedom and noncentrality
    ``difference * sqrt(pairs) / deviation`` (J. Cohen, "Statistical Power Analysis", 1988).

    Args:
        pairs: Number of pairs, at least 2.
        difference: True mean of the differences.
        deviation: Their standard deviation, above 0.
        confidence: 1 minus the level of the test.
    """
    if pairs < 2:
        return 0.0
    shift = abs(difference) * math.sqrt(pairs) / deviation
    if pairs > 5000:  # the normal distribution is accurate enough
        limit = z_quantile(confidence)
        return float(stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift))
    limit = float(stats.t.ppf((1 + confidence) / 2, pairs - 1))
    # For a large shift the lower tail is 0, and scipy may return NaN for it.
    lower = stats.nct.cdf(-limit, pairs - 1, shift) if shift < 5 else 0.0
    return float(stats.nct.sf(limit, pairs - 1, shift) + lower)


def required_pairs(
    difference: float, deviation: float, power: float = 0.8, confidence: float = 0.95
) -> int:
    """Return the smallest number of pairs with which a paired t test has the power.

    Args:
        difference: The true mean difference to detect; not 0.
        deviation: Their standard deviation, above 0.
        power: The chance to detect it, in (0, 1).
        confidence: 1 minus the level of the test.

    Raises:
        ConfigError: An argument is out of its range, or more than 10^18 pairs are needed.
    """
    if not (difference and deviation > 0 and 0 < power < 1):
        raise ConfigError(
            f"Power needs a difference other than 0, a deviation above 0 and a power between 0 and "
            f"1; got {difference!r}, {deviation!r} and {power!r}."
        )
    enough = 2
    while power_of(enough, difference, deviation, confidence) < power:
        enough *= 2
        if enough > LARGEST:
            raise ConfigError(f"More than {LARGEST:,} pairs are needed to detect {difference!r}.")
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        if power_of(middle, difference, deviation, confidence) < power:
            short = middle
        else:
            enough = middle
    return max(2, enough)


def detectable_difference(
    pairs: int, deviation: float, power: float = 0.8, confidence: float = 0.95
) -> float | None:
    """Return the smallest true difference detected with the power; None for fewer than 2 pairs.

    Args:
        pairs: Number of pairs.
        deviation: Standard deviation of the differences, above 0.
        power: The chance to detect it, in (0, 1).
        confidence: 1 minus the level of the test.
    """
    if pairs < 2:
        return None
    high = deviation
    while power_of(pairs, high, deviation, confidence) < power:
        high *= 2
    return float(
        optimize.brentq(lambda d: power_of(pairs, d, deviation, confidence) - power, 0.0, high)
    )
