"""What a comparison says about its own design.

Where the differences vary: between environments, between tasks, and between samples of a task; so
whether more samples pay, or more tasks. And how often half of the tasks would have led to the same
decision.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Components", "Pair", "components_of", "same_decision"]

Pair = tuple[Sequence[float], Sequence[float]]
"""The values of the first and of the second agent on a task."""

HALVES = 100


@dataclass(frozen=True)
class Components:
    """Components of the variance of a difference between two single episodes.

    Args:
        environments: Variance of the mean difference between environments; None for one of them.
        tasks: Variance of the mean difference between the tasks of an environment; None if no task
            has several samples of both agents, as it cannot be told from that of samples.
        samples: Variance between the samples of a task; None in this case, too.
        icc: Intraclass correlation: the share of ``tasks`` in both; None in this case, too.
        per_task: Mean number of samples of a task, of the agent with fewer.
    """

    environments: float | None
    tasks: float | None
    samples: float | None
    icc: float | None
    per_task: float

    def worth(self, samples: float) -> float | None:
        """Return how many tasks with one sample say as much as one task with several.

        ``k / (1 + (k - 1) icc)``, the design effect of L. Kish, "Survey Sampling" (1965).

        Args:
            samples: Number of samples of the task, at least 1.
        """
        return None if self.icc is None else samples / (1 + (samples - 1) * self.icc)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and ``worth`` of 2, 4, 8 and 16 samples."""
        return {**vars(self), "worth": {str(k): self.worth(k) for k in (2, 4, 8, 16)}}


def components_of(envs: Mapping[str, Sequence[Pair]]) -> Components:
    """Estimate the components by the method of moments, in a nested analysis of variance.

    The variance of the tasks' mean differences is that between tasks, and what the samples add:
    ``s^2 / k`` of each agent. That of the environments' means is treated alike. An estimate below 0
    is 0 (S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components", 1992).

    Args:
        envs: The values of each task, by environment; at least one task.
    """
    pairs = [pair for own in envs.values() for pair in own]
    gaps = {env: [_mean(two) - _mean(one) for one, two in own] for env, own in envs.items()}
    seen = _pooled_variance(list(gaps.values()))
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    noise = [_pooled_variance(own) for own in sides]
    per_task = min(sum(map(len, own)) for own in sides) / len(pairs)
    tasks = samples = icc = None
    if seen is not None and noise[0] is not None and noise[1] is not None:
        samples = noise[0] + noise[1]
        added = sum(noise[0] / len(one) + noise[1] / len(two) for one, two in pairs) / len(pairs)
        tasks = max(0.0, seen - added)
        icc = tasks / (tasks + samples) if tasks + samples > 0 else None
    environments = None
    if len(gaps) > 1 and seen is not None:
        added = fmean(seen / len(own) for own in gaps.values())
        environments = max(0.0, variance(map(fmean, gaps.values())) - added)
    return Components(environments, tasks, samples, icc, per_task)


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else sum(values) / len(values)


def _pooled_variance(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the variance within groups; None if no group has two values."""
    degrees = sum(len(own) - 1 for own in groups)
    if not degrees:
        return None
    several = [own for own in groups if len(own) > 1]
    return sum((len(own) - 1) * float(np.var(own, ddof=1)) for own in several) / degrees


def same_decision(
    decide: Callable[[NDArray[np.intp]], int], clusters: int, seed: int = 0
) -> float | None:
    """Return the share of 100 random halves of the tasks that lead to the decision of all.

    Args:
        decide: Gets the numbers of some clusters, and returns 1 if the second agent is
            significantly better, -1 if it is worse, else 0.
        clusters: Number of all clusters. With fewer than 4 there is no half to look at: None.
        seed: Seed of the halves.
    """
    if clusters < 4:
        return None
    rng = np.random.default_rng(seed)
    every = decide(np.arange(clusters))
    halves = (rng.permutation(clusters)[: clusters // 2] for _ in range(HALVES))
    return sum(decide(half) == every for half in halves) / HALVES
