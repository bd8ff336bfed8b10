"""GRPO and its relatives: each episode's return is compared with those of its group.

A group is several episodes from one start state. R is the undiscounted return of an episode, and
all turns of an episode have the same advantage.

    GRPO        A = (R - mean(R)) / (std(R) + epsilon)  Shao et al. 2024, "DeepSeekMath"
    Dr. GRPO    A = R - mean(R)                         Liu et al. 2025, "Understanding
                                                        R1-Zero-Like Training"
    RLOO        A = R - mean of the others' R           Kool et al. 2019, "Buy 4 REINFORCE
                                                        Samples, Get a Baseline for Free!"
    REINFORCE   A = R, for the whole episode

Mean and standard deviation are over the episodes of the group. The advantage of a group of one
episode is 0, except with episode REINFORCE. In the loss, a response is a whole episode.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from gem_core.errors import ConfigError
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

__all__ = ["GRPO", "RLOO", "DrGRPO", "EpisodeREINFORCE", "GroupAlgorithm"]


@dataclass(frozen=True)
class GroupAlgorithm(Algorithm):
    """Base class of the algorithms whose advantages belong to episodes.

    Args:
        normalise: Whether to standardise the advantages over the turns of the batch at the end.
    """

    length_norm: ClassVar[Literal["constant", "response", "token"]] = "response"
    unit: ClassVar[Literal["turn", "episode"]] = "episode"
    needs_groups: ClassVar[bool] = True

    normalise: bool = False

    @abstractmethod
    def of_episodes(self, R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
        """Return the advantage of each episode, (E,), from its return and its group, (E,)."""

    def advantages(self, batch: Batch) -> torch.Tensor:
        A_E = self.of_episodes(episode_returns(batch), episode_groups(batch))
        A_N = A_E[batch.episode]
        return standardised(A_N, batch.chosen) if self.normalise else A_N


@dataclass(frozen=True)
class GRPO(GroupAlgorithm):
    """Group relative policy optimisation.

    Args:
        normalise: Whether to standardise the advantages over the turns of the batch at the end.
        epsilon: Added to the standard deviation; 0 or more.
        unbiased: Whether the standard deviation has n - 1 in its denominator, as in TRL and verl.

    Raises:
        ConfigError: ``epsilon`` is negative.
    """

    epsilon: float = EPSILON
    unbiased: bool = False

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ConfigError(f"epsilon must be 0 or more, got {self.epsilon!r}.")

    def of_episodes(self, R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
        std_E = group_std(R_E, group_E, unbiased=self.unbiased)
        A_E = from_group_mean(R_E, group_E) / (std_E + self.epsilon)
        return torch.where(std_E > 0, A_E, 0)


@dataclass(frozen=True)
class DrGRPO(GroupAlgorithm):
    """GRPO done right: without the standard deviation, and with a constant in place of lengths."""

    length_norm: ClassVar[Literal["constant", "response", "token"]] = "constant"

    def of_episodes(self, R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
        return from_group_mean(R_E, group_E)


@dataclass(frozen=True)
class RLOO(GroupAlgorithm):
    """REINFORCE leave-one-out."""

    def of_episodes(self, R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
        return from_mean_of_others(R_E, group_E)


@dataclass(frozen=True)
class EpisodeREINFORCE(GroupAlgorithm):
    """REINFORCE with the return of the whole episode."""

    needs_groups: ClassVar[bool] = False

    def of_episodes(self, R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
        return R_E
