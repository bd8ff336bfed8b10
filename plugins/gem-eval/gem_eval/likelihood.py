"""The mean of values in a known range: one p-value for each mean, and the interval that follows.

A mean is in the interval if its p-value is at least 1 minus the confidence level, so an interval
and a test never contradict each other, and no interval leaves the range. A mean is rejected only
if two arguments reject it:

* the empirical likelihood ratio, in which outcomes at the ends of the range may have a part though
  none was observed (A. B. Owen (1988), Biometrika 75, 237-249, and (1990), Annals of Statistics 18,
  90-120), with Student's t in place of the normal distribution for few clusters;
* an outcome at the end of the range that is so rare that no cluster has it (the "rule of three":
  J. A. Hanley and A. Lippman-Hand (1983), JAMA 249, 1743-1745). So equal values are not taken for
  a certainty.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

__all__ = ["MeanLikelihood"]

_ALMOST = 1 - 1e-12
_STEPS = 100


class MeanLikelihood:
    """What values in a range say about the mean of further ones.

    Args:
        sums: The sum of the values of each cluster, shape (clusters,); at least two.
        sizes: Their numbers of values, shape (clusters,).
        ends: The smallest and the largest possible value; all values are between them.
    """

    def __init__(
        self, sums: NDArray[np.float64], sizes: NDArray[np.float64], ends: tuple[float, float]
    ) -> None:
        self._sums, self._sizes, self._ends = sums, sizes, ends
        self._groups, self._size = len(sums), float(sizes.mean())
        self.mean = min(ends[1], max(ends[0], float(sums.sum() / sizes.sum())))

    @classmethod
    def of(cls, clusters: Sequence[Sequence[float]], ends: tuple[float, float]) -> Self:
        """Return what the values of at least two clusters say about the mean."""
        sums = np.array([math.fsum(own) for own in clusters])
        return cls(sums, np.array([len(own) for own in clusters], dtype=float), ends)

    def p_value(self, mean: float) -> float:
        """Return the two-sided p-value of a mean.

        Args:
            mean: The hypothesis.
        """
        away = mean - self.mean
        end = self._ends[1] if away > 0 else self._ends[0]
        reach, room = abs(end - self.mean), abs(end - mean)
        if abs(away) <= 1e-12 * max(1.0, reach):
            return 1.0
        if abs(away) >= reach:
            return 0.0
        unseen = (room / reach) ** self._groups
        return max(float(2 * stdtr(self._groups - 1, -self._root(mean))), unseen)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the means that are not rejected.

        Args:
            confidence: In (0, 1).
        """
        low, high = (self._limit(end, confidence) for end in self._ends)
        return low, high

    def _limit(self, end: float, confidence: float) -> float:
        reach = end - self.mean
        if abs(reach) <= 1e-12 * max(1.0, abs(end)):
            return end
        unseen = 1 - (1 - confidence) ** (1 / self._groups)
        limit = -float(stdtrit(self._groups - 1, (1 - confidence) / 2))

        def excess(share: float) -> float:
            return self._root(self.mean + share * reach) - limit

        near, far = 0.0, unseen
        while excess(far) < 0 and far < _ALMOST:  # it grows about linearly
            near, far = far, min(2 * far, _ALMOST)
        found = far if excess(far) < 0 else brentq(excess, near, far, xtol=1e-12)
        return float(self.mean + max(unseen, found) * reach)

    def _root(self, mean: float) -> float:
        """Return the root of twice the log of the likelihood ratio of a mean.

        Args:
            mean: The hypothesis, between the observed mean and an end of the range.
        """
        if mean == self.mean:  # which may be an end
            return 0.0
        above = bool(mean > self.mean)
        gaps = (1 if above else -1) * (mean * self._sizes - self._sums)
        room = self._size * abs(self._ends[above] - mean)  # of a cluster at the end of the range
        weight = self._weight(gaps, _ALMOST / max(room, -float(gaps.min())))
        return math.sqrt(max(0.0, 2 * float(np.log1p(weight * gaps).sum())))

    def _weight(self, gaps: NDArray[np.float64], most: float) -> float:
        """Return the multiplier that makes the likelihood largest, by Newton's method.

        Args:
            gaps: The mean that is tested minus the values, in the direction in which they add up to
                more than 0.
            most: Its upper bound, at which an outcome at the end of the range has a part.
        """
        if float((gaps / (1 + most * gaps)).sum()) >= 0:
            return most
        low, high = 0.0, most
        weight = min(most / 2, float(gaps.sum()) / float((gaps * gaps).sum()))
        for _ in range(_STEPS):
            parts = gaps / (1 + weight * gaps)
            slope = float(parts.sum())
            low, high = (weight, high) if slope > 0 else (low, weight)
            before, weight = weight, weight + slope / float((parts * parts).sum())
            if not low < weight < high:
                weight = (low + high) / 2
            if abs(weight - before) <= 1e-10 * before:
                break
        return weight
