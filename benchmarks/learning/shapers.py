"""A reward shaper that adds a constant to the return of every turn."""

from dataclasses import dataclass

import torch

from gem_train.batch import Batch
from gem_train.shapers import RewardShaper

__all__ = ["ReturnOffset"]


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
