"""REINFORCE over turns: the advantage of a turn is its discounted return.

    G_t = r_t + gamma G_{t+1}        A_t = G_t

Williams 1992, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning". An action is a whole response, so the discount counts turns, not tokens. There is no
baseline.
"""

from dataclasses import dataclass

import torch

from gem_train.algorithm import Algorithm, check_fraction
from gem_train.batch import Batch
from gem_train.returns import discounted_returns

__all__ = ["REINFORCE"]


@dataclass(frozen=True)
class REINFORCE(Algorithm):
    """REINFORCE over turns.

    Args:
        gamma: Discount per turn, in [0, 1]; below 1, success in fewer turns is worth more.

    Raises:
        ConfigError: ``gamma`` is out of range.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_fraction(gamma=self.gamma)

    def advantages(self, batch: Batch) -> torch.Tensor:
        return discounted_returns(batch, self.gamma)
