"""Paired statistics: two agents on the same tasks.

A difference is the second agent's mean on a task minus the first agent's. Each interval belongs to
a test: 0 is outside of the interval if and only if the p-value is below 1 minus its confidence
level. Importing this module imports ``scipy``.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from gem_core.errors import ConfigError
from gem_eval.likelihood import MeanLikelihood
from gem_eval.statistics import Clusters, Estimate, cluster_mean, t_quantile, z_quantile

__all__ = [
    "binary_difference",
    "bound_of",
    "decisions",
    "detectable_difference",
    "holm",
    "mcnemar_exact",
    "mean_difference",
    "power_of",
    "required_pairs",
    "standard_deviation",
]

Array = NDArray[np.float64]

LARGEST = 10**18
_MANY = 100_000
"""From this number of pairs on, the normal distribution takes the place of sums."""
_SHARES = (np.arange(400) + 0.5) / 400
"""Quantiles over which the interval of a binary difference averages."""


def mean_difference(
    clusters: Clusters, confidence: float = 0.95, most: float | None = None
) -> tuple[Estimate, float]:
    """Estimate the mean of paired differences and test whether it is 0.

    Interval and p-value are those of ``gem_eval.likelihood.MeanLikelihood``.

    Args:
        clusters: The differences, one for each pair, clustered by question; at least one.
        confidence: In (0, 1).
        most: The largest possible absolute difference; None if it is unknown. It is then taken
            to be 1.5 times the largest one observed.

    Returns:
        The estimate, without an interval for a single cluster, or if nothing differs and ``most``
        is unknown; and the two-sided p-value, which is then 1.
    """
    mean, se = cluster_mean(clusters)
    most = bound_of(clusters, most)
    if se is None or not most:
        return Estimate(mean, None, None, se, len(clusters)), 1.0
    found = MeanLikelihood.of(clusters, (-most, most))
    estimate = Estimate(found.mean, *found.interval(confidence), se, len(clusters))
    return estimate, found.p_value(0.0)


def bound_of(clusters: Clusters, most: float | None) -> float:
    """Return the largest possible absolute difference, as in ``mean_difference``."""
    observed = max(abs(one) for own in clusters for one in own)
    if most is not None and observed <= most + 1e-9:
        return max(most, observed)
    return 1.5 * observed


def decisions(
    clusters: Clusters, confidence: float, most: float | None, *, binary: bool
) -> Callable[[NDArray[np.intp]], int]:
    """Return a function that decides from some of the clusters, given by their numbers.

    It returns 1 if the second agent is significantly better, -1 if it is worse, else 0.

    Args:
        clusters: The differences, one for each pair.
        confidence: 1 minus the level of the test.
        most: As in ``mean_difference``.
        binary: Whether each difference is -1, 0 or 1, and alone in its cluster.
    """
    sums = np.array([math.fsum(own) for own in clusters])
    sizes = np.array([len(own) for own in clusters], dtype=float)
    bound = bound_of(clusters, most)

    def decide(some: NDArray[np.intp]) -> int:
        chosen = sums[some]
        if binary:
            p_value = mcnemar_exact(int((chosen > 0).sum()), int((chosen < 0).sum()))
        elif len(chosen) < 2 or not bound:
            return 0
        else:
            p_value = MeanLikelihood(chosen, sizes[some], (-bound, bound)).p_value(0.0)
        return int(np.sign(chosen.sum())) if p_value < 1 - confidence else 0

    return decide


def binary_difference(
    differences: Sequence[float], confidence: float = 0.95
) -> tuple[Estimate, float]:
    """Estimate the mean of independent differences of -1, 0 and 1, and test whether it is 0.

    The test is McNemar's exact one. The interval has the bounds of N. Gaffke (2005), Mathematical
    Methods of Statistics 14, 451-467 (E. Learned-Miller and P. S. Thomas (2020), arXiv:1905.06208):
    the weights of the observations, and of one more at the end of the range, are uniformly
    distributed on the simplex. For values of 0 and 1 these are the exact bounds of C. J. Clopper
    and E. S. Pearson (1934), and whether 0 is among them is McNemar's test. Both are conservative.

    Args:
        differences: One for each pair; at least one.
        confidence: In (0, 1).

    Returns:
        The estimate and the two-sided p-value.
    """
    count = len(differences)
    better, worse = _discordant(differences)
    mean, tail = (better - worse) / count, (1 - confidence) / 2
    same = count - better - worse
    high = _quantile(better + 1, worse, same, 1 - tail)
    low = -_quantile(worse + 1, better, same, 1 - tail)
    se = _adjusted_deviation(better, worse, count) / math.sqrt(count + 2)
    return Estimate(mean, min(low, mean), max(high, mean), se, count), mcnemar_exact(better, worse)


def _quantile(gain: int, loss: int, same: int, probability: float) -> float:
    """Return a quantile of the weight of gains minus that of losses, which sum to 1 with the rest.

    The share of the gains among both is independent of the weight of both. At 0 only the sign of
    the difference matters, and the probability does not depend on the average over the weight.
    """
    weights = special.betaincinv(gain + loss, same, _SHARES) if same else np.ones(1)

    def excess(difference: float) -> float:
        shares = np.clip((1 + difference / weights) / 2, 0.0, 1.0)
        below = special.betainc(gain, loss, shares) if loss else (shares >= 1).astype(float)
        return float(below.mean()) - probability

    if not loss:
        return float(special.betaincinv(gain, same, probability)) if same else 1.0
    if excess(1.0) <= 0:
        return 1.0
    return float(optimize.brentq(excess, -1.0, 1.0, xtol=1e-12))


def _discordant(differences: Sequence[float]) -> tuple[int, int]:
    return sum(one > 0 for one in differences), sum(one < 0 for one in differences)


def _adjusted_deviation(better: int, worse: int, count: int) -> float:
    """Return the standard deviation with one more pair of each discordant kind, so never 0.

    D. G. Bonett and R. M. Price (2012), Journal of Educational and Behavioral Statistics 37,
    479-488.
    """
    gain, loss = (better + 1) / (count + 2), (worse + 1) / (count + 2)
    return math.sqrt(gain + loss - (gain - loss) ** 2)


def standard_deviation(clusters: Clusters, *, binary: bool) -> float | None:
    """Return the standard deviation of differences, for power analysis; None if unknown.

    With several differences in a cluster, it is the standard error of their mean times the root of
    the number of clusters. Of binary differences it is the root of the share of pairs that differ,
    with one more of each kind, so that the result is never 0: their deviation about 0, as their
    variance depends on the difference.

    Args:
        clusters: The differences, one for each pair.
        binary: Whether each is -1, 0 or 1, and alone in its cluster.
    """
    count = len(clusters)
    if binary:
        better, worse = _discordant([one for own in clusters for one in own])
        return math.sqrt((better + worse + 2) / (count + 2))
    deviation = (cluster_mean(clusters)[1] or 0.0) * math.sqrt(count)
    return deviation if deviation > 1e-12 else None


def mcnemar_exact(better: int, worse: int) -> float:
    """Return the two-sided p-value of McNemar's exact test on the numbers of discordant pairs.

    Q. McNemar (1947), Psychometrika 12, 153-157; the exact form is the binomial test.

    Args:
        better: Pairs in which only the second succeeded.
        worse: Pairs in which only the first did.
    """
    return min(1.0, 2 * float(special.bdtr(min(better, worse), better + worse, 0.5)))


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


def power_of(
    pairs: int,
    difference: float,
    deviation: float,
    confidence: float = 0.95,
    *,
    most: float | None = None,
    binary: bool = False,
) -> float:
    """Return the power of the test of ``binary_difference`` or ``mean_difference``.

    Of McNemar's exact test it is computed exactly: the number of discordant pairs is binomial, and
    so is the number of gains among them. Of the other test it is that of a t test (the noncentral t
    distribution, J. Cohen, "Statistical Power Analysis", 1988) with the larger critical value that
    the likelihood ratio of normal values has, and with a difference that an outcome which no pair
    shows cannot explain.

    Args:
        pairs: Number of pairs.
        difference: True mean of the differences.
        deviation: Their standard deviation, above 0; with ``binary`` the root of the share of pairs
            that differ.
        confidence: 1 minus the level of the test.
        most: The largest possible absolute difference; None leaves unseen outcomes out.
        binary: Whether each difference is -1, 0 or 1.
    """
    size = abs(difference)
    if pairs < 2:
        return 0.0
    if binary:
        return _mcnemar_power(pairs, size, max(deviation**2, size), confidence)
    shift = size * math.sqrt(pairs) / deviation
    unseen = ((1 - confidence) ** (-1 / pairs) - 1) * (most or 0.0) * math.sqrt(pairs) / deviation
    if pairs > _MANY:
        limit = max(z_quantile(confidence), unseen)
        return float(special.ndtr(shift - limit) + special.ndtr(-limit - shift))
    quantile = t_quantile(confidence, pairs - 1)
    ratio = min(quantile**2 / pairs, 600.0)
    limit = max(math.sqrt((pairs - 1) * math.expm1(ratio)), unseen)
    below = special.nctdtr(pairs - 1, shift, np.array([-limit, limit]))
    lower, upper = np.nan_to_num(below, nan=0.0)  # scipy's NaN of a large shift, where it is 0
    return float(1 - upper + lower)


def _mcnemar_power(pairs: int, difference: float, discordant: float, confidence: float) -> float:
    """Return the power of McNemar's exact test.

    Args:
        pairs: Number of pairs.
        difference: Share of gains minus that of losses, from 0 to ``discordant``.
        discordant: Share of pairs that differ, at most 1.
        confidence: 1 minus the level of the test.
    """
    discordant = min(1.0, discordant)
    if pairs > _MANY:  # with a correction for continuity
        middle, limit = pairs * difference, z_quantile(confidence) * math.sqrt(pairs * discordant)
        deviation = math.sqrt(max(1.0, pairs * (discordant - difference**2)))
        return float(special.ndtr((middle - limit - 1) / deviation))
    spread = 8 * math.sqrt(pairs * discordant * (1 - discordant))
    least = max(0, math.floor(pairs * discordant - spread))
    numbers = np.arange(float(least), min(pairs, math.ceil(pairs * discordant + spread)) + 1)
    chance = np.diff(_binomial(np.append(least - 1.0, numbers), pairs, discordant))
    fewest = _rejected_up_to(numbers, confidence)
    gains = (1 + difference / discordant) / 2
    rejected = _binomial(fewest, numbers, 1 - gains) + _binomial(fewest, numbers, gains)
    return float(np.sum(chance * rejected))


def _rejected_up_to(numbers: Array, confidence: float) -> Array:
    """Return the largest number of losses, or of gains, at which McNemar's test rejects.

    -1 if there is none. The normal distribution, with a correction for continuity, is at most one
    away; ``scipy.special.bdtrik`` is exact and ten times slower.

    Args:
        numbers: The numbers of discordant pairs.
        confidence: 1 minus the level of the test.
    """
    near = np.floor((numbers - z_quantile(confidence) * np.sqrt(numbers) - 1) / 2)
    found = np.full_like(near, -1.0)
    for tried in (near - 1, near, near + 1):
        found = np.where(_binomial(tried, numbers, 0.5) < (1 - confidence) / 2, tried, found)
    return np.maximum(found, -1.0)


def _binomial(most: Array, number: Array | int, chance: float) -> Array:
    """Return the probabilities of at most so many successes."""
    found = special.betainc(np.maximum(number - most, 1e-9), np.maximum(most + 1, 1e-9), 1 - chance)
    return np.where(most < 0, 0.0, np.where(most >= number, 1.0, found))


def required_pairs(
    difference: float,
    deviation: float,
    power: float = 0.8,
    confidence: float = 0.95,
    *,
    most: float | None = None,
    binary: bool = False,
) -> int:
    """Return the smallest number of pairs with which a test has the power.

    Args:
        difference: The true mean difference to detect; not 0.
        deviation: As in ``power_of``.
        power: The chance to detect it, in (0, 1).
        confidence: 1 minus the level of the test.
        most: As in ``power_of``.
        binary: As in ``power_of``.

    Raises:
        ConfigError: An argument is out of its range, or more than 10^18 pairs are needed.
    """
    if not (difference and deviation > 0 and 0 < power < 1):
        raise ConfigError(
            f"Power needs a difference other than 0, a deviation above 0 and a power between 0 and "
            f"1; got {difference!r}, {deviation!r} and {power!r}."
        )

    def is_enough(pairs: int) -> bool:
        found = power_of(pairs, difference, deviation, confidence, most=most, binary=binary)
        return found >= power

    enough = 2
    while not is_enough(enough):
        enough *= 2
        if enough > LARGEST:
            raise ConfigError(f"More than {LARGEST:,} pairs are needed to detect {difference!r}.")
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if is_enough(middle) else (middle, enough)
    return max(2, enough)


def detectable_difference(
    pairs: int,
    deviation: float,
    power: float = 0.8,
    confidence: float = 0.95,
    *,
    most: float | None = None,
    binary: bool = False,
) -> float | None:
    """Return the smallest true difference detected with the power; None if there is none.

    Args:
        pairs: Number of pairs.
        deviation: As in ``power_of``.
        power: The chance to detect it, in (0, 1).
        confidence: 1 minus the level of the test.
        most: As in ``power_of``.
        binary: As in ``power_of``.
    """
    largest = 1.0 if binary else most

    def missing(difference: float) -> float:
        found = power_of(pairs, difference, deviation, confidence, most=most, binary=binary)
        return found - power

    high = deviation
    while pairs > 1 and missing(high) < 0:
        if largest is not None and high >= largest:
            return None
        high = 2 * high if largest is None else min(2 * high, largest)
    return float(optimize.brentq(missing, 0.0, high)) if pairs > 1 else None
