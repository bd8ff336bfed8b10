"""The metrics ``train/...`` of a learning step."""

from collections import defaultdict
from typing import Any

import torch

from gem_train.batch import Batch

__all__ = ["Meter", "metrics_of"]


_MOST_LOG_RATIO = 20.0
"""Larger log-ratios count as this one, so that squares stay finite in float32."""


class Meter:
    """Means and maxima of the metrics of a step's updates."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._max: dict[str, float] = {}
        self._weights = self._squares = self._weighted = 0.0

    def add(self, name: str, value: Any, count: int = 1) -> None:
        """Add a mean over ``count`` values."""
        if count:
            self._sums[name] += float(value) * count
            self._counts[name] += count

    def mean(self, name: str) -> float:
        """Return a mean so far, 0 if there is none."""
        return self._sums[name] / self._counts[name] if name in self._counts else 0.0

    def keep_max(self, name: str, value: Any) -> None:
        """Keep the largest value."""
        self._max[name] = max(self._max.get(name, 0.0), float(value))

    def add_ratios(self, log_ratios: torch.Tensor) -> None:
        """Add tokens to the effective sample size.

            ESS = (sum w)^2 / (n sum w^2),  in (0, 1]

        Here w is the probability of a token under the policy that learns over that under the one
        that sampled it: the n tokens say as much as ``n ESS`` of the policy that learns (Kong 1992,
        "A Note on Importance Sampling Using Standardized Weights").

        Args:
            log_ratios: log w of each token, (n,).
        """
        weights = log_ratios.float().clamp(max=_MOST_LOG_RATIO).exp()
        self._weights += weights.sum().item()
        self._squares += (weights**2).sum().item()
        self._weighted += len(weights)

    def metrics(self) -> dict[str, float]:
        """Return the means and maxima by name, and the effective sample size if there is one."""
        found = {name: self._sums[name] / self._counts[name] for name in self._sums} | self._max
        if self._squares:
            ess = self._weights**2 / (self._weighted * self._squares)
            found["train/effective_sample_size"] = min(1.0, ess)  # rounding
        return found


def metrics_of(
    batch: Batch, advantages_N: torch.Tensor, targets_N: torch.Tensor | None
) -> dict[str, float]:
    """Return the metrics of a batch and its advantages.

    Args:
        batch: The batch.
        advantages_N: The advantage of each turn, (N,).
        targets_N: The critic's target of each turn, (N,); None without a critic.
    """
    chosen = batch.chosen
    metrics = {
        "train/turns": float(batch.trained.sum()),
        "train/tokens": float(batch.mask.sum()),
        "train/advantage_std": advantages_N[chosen].std(correction=0).item(),
    }
    if batch.value is not None and targets_N is not None:
        variance = targets_N[chosen].var(correction=0)
        unexplained = (targets_N - batch.value)[chosen].var(correction=0)
        if variance > 0:
            metrics["train/explained_variance"] = (1 - unexplained / variance).item()
    return metrics
