"""Shares of successes: their interval, and the chance that of k episodes one or all succeed."""

import math
from statistics import NormalDist

from gem_core.errors import ConfigError

__all__ = ["pass_all", "pass_at", "wilson", "z_quantile"]


def z_quantile(confidence: float) -> float:
    """Return z such that [-z, z] has probability ``confidence`` under the standard normal."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(proportion: float, size: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion.

    E. B. Wilson (1927), Journal of the American Statistical Association 22, 209-212. It keeps its
    coverage near 0 and 1 and for small samples, where the Wald interval does not.

    Args:
        proportion: Share of successes, in [0, 1].
        size: Number of trials, above 0; an effective number need not be an integer.
        confidence: In (0, 1).

    Raises:
        ConfigError: An argument is out of its range.
    """
    if not (size > 0 and 0 <= proportion <= 1 and 0 < confidence < 1):
        raise ConfigError(
            f"wilson needs a proportion from 0 to 1, a size above 0 and a confidence between 0 and "
            f"1; got {proportion!r}, {size!r} and {confidence!r}."
        )
    z2 = z_quantile(confidence) ** 2
    middle = (proportion + z2 / (2 * size)) / (1 + z2 / size)
    spread = proportion * (1 - proportion) / size + z2 / (4 * size * size)
    half = math.sqrt(z2 * spread) / (1 + z2 / size)
    low = 0.0 if proportion == 0 else max(0.0, middle - half)
    high = 1.0 if proportion == 1 else min(1.0, middle + half)
    return low, high


def pass_at(n: int, successes: int, k: int) -> float:
    """Return the unbiased estimate of pass@k, the chance that one or more of k episodes succeed.

    ``1 - C(n - c, k) / C(n, k)``; M. Chen et al. (2021), "Evaluating Large Language Models Trained
    on Code", arXiv:2107.03374.

    Args:
        n: Number of episodes of the task.
        successes: Number of episodes that succeeded, 0 to ``n``.
        k: From 1 to ``n``.

    Raises:
        ConfigError: A number is out of its range.
    """
    _check_counts(n, successes, k)
    return 1 - math.comb(n - successes, k) / math.comb(n, k)


def pass_all(n: int, successes: int, k: int) -> float:
    """Return the unbiased estimate of pass^k, the chance that all of k episodes succeed.

    ``C(c, k) / C(n, k)``; S. Yao et al. (2024), "tau-bench", arXiv:2406.12045.

    Args:
        n: Number of episodes of the task.
        successes: Number of episodes that succeeded, 0 to ``n``.
        k: From 1 to ``n``.

    Raises:
        ConfigError: A number is out of its range.
    """
    _check_counts(n, successes, k)
    return math.comb(successes, k) / math.comb(n, k)


def _check_counts(n: int, successes: int, k: int) -> None:
    if not (0 <= successes <= n and 1 <= k <= n):
        raise ConfigError(
            f"k must be from 1 to n, and successes from 0 to n; got n={n}, "
            f"successes={successes}, k={k}."
        )
