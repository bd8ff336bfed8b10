"""Reward shapers: a constant added to every return, and success as the only reward."""

from dataclasses import dataclass

import torch

from gem_train.batch import Batch
from gem_train.shapers import RewardShaper

__all__ = ["ReturnOffset", "SuccessReward"]


@dataclass(frozen=True)
class ReturnOffset(RewardShaper):
    """Adds c to the discounted return of every turn.

        r_t + c (1 - gamma) before the last turn, r_T + c in it, so that G_t becomes G_t + c

    A constant added to the reward of every turn would not do this: G_t would grow by
    ``c (1 + gamma + ...)``, which depends on how many turns follow.

    Args:
        offset: The constant c.
        gamma: Discount of the algorithm, in [0, 1].
    """

    offset: float
    gamma: float = 1.0

    def shape_rewards(self, batch: Batch) -> torch.Tensor:
        is_last = batch.done.to(batch.reward)
        return batch.reward + self.offset * (1 - self.gamma * (1 - is_last))


@dataclass(frozen=True)
class SuccessReward(RewardShaper):
    """Rewards success alone: 1 in the last turn of an episode with the largest return, else 0.

    Args:
        largest: The largest return, which only a success has.
    """

    largest: float = 1.0

    def shape_rewards(self, batch: Batch) -> torch.Tensor:
        returns = batch.reward.new_zeros(batch.episodes)  # of each episode
        returns.index_add_(0, batch.episode, batch.reward)
        is_success = returns[batch.episode] >= self.largest - 1e-6
        return (batch.done & is_success).to(batch.reward)
