"""Paired differences that may be looked at after every pair: intervals and tests by betting.

A *confidence sequence* is an interval after each pair; all of them together contain the mean with
the given confidence, however the moment to stop is chosen. It comes from bets against each mean
``m``. If the true mean is at most ``m``, bets that are fair at ``m`` and win on larger values ever
turn a capital of 1 into ``1 / a`` with a probability of at most ``a`` (J. Ville, 1939, "Étude
critique de la notion de collectif"). An ``m`` against which so much was won is not in the interval.

I. Waudby-Smith and A. Ramdas (2024), "Estimating means of bounded random variables by betting",
Journal of the Royal Statistical Society B 86, 1-27. A stake depends on the pairs before it. With
``v`` the mean square so far, it is ``d / v``, with which the capital grows fastest if the mean is
``d``: the difference that matters or, if that is larger, the mean so far less 1.5 standard errors.
In the long run it is their ``sqrt(2 log(2 / a) / (v t))`` after ``t`` pairs, with which the
interval never stops shrinking.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gem_core.errors import ConfigError
from gem_eval.statistics import Estimate

__all__ = ["Decision", "Verdict", "decide", "log_capital"]

Verdict = Literal["better", "worse", "equivalent", "undecided"]
"""What is known of the second agent, compared with the first."""

_LARGEST_STAKE = 0.9
"""Share of the capital that one bet may lose."""
_SQUARE, _WEIGHT = 0.25, 4
"""The mean square that is assumed at first, and how many pairs it counts as."""
_CAUTION = 1.5
"""Standard errors by which the mean so far must exceed the difference that matters."""
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Decision:
    """What is known of a mean difference after some pairs.

    Args:
        verdict: ``better`` or ``worse`` if 0 is not in the interval, ``equivalent`` if it lies
            within the difference that matters, else ``undecided``.
        pairs: The pairs behind it. Those after a verdict do not count.
        estimate: The mean difference, with the interval that holds at any time.
        p_value: Of the test that the mean is 0, valid at any time.
    """

    verdict: Verdict
    pairs: int
    estimate: Estimate
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return {
            "verdict": self.verdict,
            "pairs": self.pairs,
            "difference": self.estimate.to_dict(),
            "p_value": self.p_value,
        }


def log_capital(
    values: ArrayLike, mean: float, *, above: bool, aim: float, confidence: float = 0.95
) -> NDArray[np.float64]:
    """Return the logarithm of the capital after each value; before the first one it is 0.

    Where ``mean`` is not below the true one (with ``above``; else not above), it ever reaches
    ``log(1 / a)`` with a probability of at most ``a``. It falls as ``mean`` rises (else it rises).

    Args:
        values: In [-1, 1], of shape ``(..., n)``; each has the true mean, given those before it.
        mean: The mean that is bet against, in [-1, 1].
        above: Whether to bet on a larger mean, else on a smaller one.
        aim: The difference to be found with the fewest values, in (0, 1].
        confidence: Confidence level of the interval, which the stakes of the long run depend on.

    Returns:
        The logarithms, of the shape of ``values``.
    """
    z = np.asarray(values, dtype=float)
    side = 1 if above else -1
    count = np.arange(z.shape[-1])  # of the values before each one
    square = (_SQUARE * _WEIGHT + np.cumsum(z**2, axis=-1) - z**2) / (_WEIGHT + count)
    so_far = (np.cumsum(z, axis=-1) - z) / (_WEIGHT + count)
    sure = side * so_far - _CAUTION * np.sqrt(square / (_WEIGHT + count))
    long_run = np.sqrt(2 * math.log(2 / (1 - confidence)) / (square * (count + 1)))
    stake = np.minimum(np.maximum(aim, sure) / square, long_run)
    stake = np.minimum(stake, _LARGEST_STAKE / (1 + side * mean))
    return np.asarray(np.cumsum(np.log1p(stake * side * (z - mean)), axis=-1))


def decide(
    values: Sequence[float],
    *,
    difference: float,
    bound: float = 1.0,
    most: float | None = None,
    confidence: float = 0.95,
) -> Decision:
    """Return what is known of the mean of paired differences; may be asked after every pair.

    Args:
        values: The differences in the order in which their pairs were chosen, each in
            [-bound, bound] and with the same mean, given those before it.
        difference: The smallest difference that matters, in (0, bound): smaller ones are
            equivalent, and one of this size is found with the fewest pairs.
        bound: The largest absolute value that is possible.
        most: The largest absolute mean that is possible; None for ``bound``.
        confidence: In (0, 1). A verdict is wrong with a probability of at most 1 minus this.

    Raises:
        ConfigError: An argument or a value is out of its range.
    """
    if not 0 < difference < bound < math.inf:
        raise ConfigError(
            f"The smallest difference that matters must be above 0 and below {bound:g}, the "
            f"largest that is possible; got {difference!r}."
        )
    z = np.asarray(values, dtype=float) / bound
    if z.size and not np.abs(z).max() <= 1 + 1e-9:
        raise ConfigError(f"The difference {np.abs(z).max() * bound:g} is above {bound:g}.")
    most = bound if most is None else most
    z, aim = np.clip(z, -1.0, 1.0), difference / bound
    enough = math.log(2 / (1 - confidence))  # both ends share the probability of an error

    def first(mean: float, *, above: bool) -> int:
        """Return the number of pairs after which ``mean`` is out of the interval."""
        lost = log_capital(z, mean, above=above, aim=aim, confidence=confidence) >= enough
        return int(lost.argmax()) + 1 if lost.any() else len(z) + 1

    moments: dict[Verdict, int] = {
        "better": first(0.0, above=True),
        "worse": first(0.0, above=False),
        "equivalent": max(first(-aim, above=True), first(aim, above=False)),
        "undecided": len(z),
    }
    verdict = min(moments, key=lambda name: moments[name])
    z = z[: moments[verdict]]
    if not z.size:
        return Decision("undecided", 0, Estimate(0.0, -most, most, None, 0), 1.0)

    def peak(mean: float, *, above: bool) -> float:
        return float(log_capital(z, mean, above=above, aim=aim, confidence=confidence).max())

    def end(*, above: bool) -> float:
        """Return the end of the interval, by bisection: a mean beyond it has lost."""
        out, inside = (-1.0, 1.0) if above else (1.0, -1.0)
        for _ in range(_HALVINGS):
            middle = (out + inside) / 2
            if peak(middle, above=above) >= enough:
                out = middle
            else:
                inside = middle
        return min(max(out * bound, -most), most)

    best = max(0.0, peak(0.0, above=True), peak(0.0, above=False))
    low, high = end(above=True), end(above=False)
    # Weights can put the mean of few values outside of the interval.
    value = min(max(float(z.mean()) * bound, low), high)
    estimate = Estimate(value, low, high, None, len(z))
    return Decision(verdict, len(z), estimate, min(1.0, 2 * math.exp(-best)))
