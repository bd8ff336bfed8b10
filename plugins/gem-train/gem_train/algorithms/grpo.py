"""GRPO and its relatives: the return of an episode beside those of its group.

A group is several episodes from one start state; R is the undiscounted return of an episode, and
all its turns have the same advantage.

    GRPO        A = (R - mean(R)) / (std(R) + 1e-9)     Shao et al. 2024, "DeepSeekMath"
    Dr. GRPO    A = R - mean(R)                         Liu et al. 2025, "Understanding
                                                        R1-Zero-Like Training"
    RLOO        A = R - mean of the others' R           Kool et al. 2019, "Buy 4 REINFORCE
                                                        Samples, Get a Baseline for Free!"
    ep_level    A = R

Mean and standard deviation (the population's) are over the episodes of the group. A group of one
episode has nothing to compare: its advantage is 0, but for ``ep_level``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gem_train.algorithm import Algorithm
from gem_train.batch import Batch
from gem_train.returns import episode_groups, episode_returns
from gem_train.statistics import (
    EPSILON,
    from_group_mean,
    from_mean_of_others,
    group_std,
    standardised,
)

__all__ = [
    "DR_GRPO",
    "EP_LEVEL",
    "GRPO",
    "RLOO",
    "GroupConfig",
    "dr_grpo",
    "ep_level",
    "grpo",
    "rloo",
]


@dataclass(frozen=True)
class GroupConfig:
    """Configuration of GRPO, Dr. GRPO, RLOO and ep_level.

    Args:
        normalise: Whether to standardise the advantages over the turns of the batch at the end.
    """

    normalise: bool = False


def grpo(R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
    """Return ``(R - mean) / (std + 1e-9)`` in groups, (E,)."""
    return from_group_mean(R_E, group_E) / (group_std(R_E, group_E) + EPSILON)


def dr_grpo(R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
    """Return ``R - mean`` in groups, (E,)."""
    return from_group_mean(R_E, group_E)


def rloo(R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
    """Return ``R - mean of the others`` in groups, (E,)."""
    return from_mean_of_others(R_E, group_E)


def ep_level(R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
    """Return ``R``, (E,)."""
    return R_E


def _of_turns(
    rule: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., torch.Tensor]:
    """Make the advantages of turns from those of their episodes."""

    def advantages(
        batch: Batch, config: GroupConfig, values: torch.Tensor | None = None
    ) -> torch.Tensor:
        A_E = rule(episode_returns(batch), episode_groups(batch))
        A_N = A_E[batch.episode]
        return standardised(A_N, batch.chosen) if config.normalise else A_N

    return advantages


GRPO = Algorithm(GroupConfig, _of_turns(grpo), length_norm="response", needs_groups=True)
DR_GRPO = Algorithm(GroupConfig, _of_turns(dr_grpo), needs_groups=True)
RLOO = Algorithm(GroupConfig, _of_turns(rloo), length_norm="response", needs_groups=True)
EP_LEVEL = Algorithm(GroupConfig, _of_turns(ep_level), length_norm="response")
