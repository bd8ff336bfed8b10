"""GRPO and its relatives: each episode's return is compared with those of its group.

A group is several episodes from one start state. R is the undiscounted return of an episode, and
all turns of an episode have the same advantage.

    GRPO        A = (R - mean(R)) / (std(R) + 1e-9)     Shao et al. 2024, "DeepSeekMath"
    Dr. GRPO    A = R - mean(R)                         Liu et al. 2025, "Understanding
                                                        R1-Zero-Like Training"
    RLOO        A = R - mean of the others' R           Kool et al. 2019, "Buy 4 REINFORCE
                                                        Samples, Get a Baseline for Free!"
    REINFORCE   A = R, for the whole episode

Mean and population standard deviation are over the episodes of the group. The advantage of a group
of one episode is 0, except with episode REINFORCE.
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
    "EPISODE_REINFORCE",
    "GRPO",
    "RLOO",
    "GroupConfig",
    "dr_grpo",
    "episode_reinforce",
    "grpo",
    "rloo",
]


@dataclass(frozen=True)
class GroupConfig:
    """Configuration of GRPO, Dr. GRPO, RLOO and episode REINFORCE.

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


def episode_reinforce(R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
    """Return ``R``, (E,)."""
    return R_E


def _per_turn(
    rule: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., torch.Tensor]:
    """Return a function that gives each turn the advantage that a rule gives its episode."""

    def advantages(
        batch: Batch, config: GroupConfig, values: torch.Tensor | None = None
    ) -> torch.Tensor:
        A_E = rule(episode_returns(batch), episode_groups(batch))
        A_N = A_E[batch.episode]
        return standardised(A_N, batch.chosen) if config.normalise else A_N

    return advantages


GRPO = Algorithm(GroupConfig, _per_turn(grpo), length_norm="response", needs_groups=True)
DR_GRPO = Algorithm(GroupConfig, _per_turn(dr_grpo), needs_groups=True)
RLOO = Algorithm(GroupConfig, _per_turn(rloo), length_norm="response", needs_groups=True)
EPISODE_REINFORCE = Algorithm(GroupConfig, _per_turn(episode_reinforce), length_norm="response")
