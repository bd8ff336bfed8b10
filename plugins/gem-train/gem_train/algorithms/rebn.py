"""ReBN, return batch normalisation: the returns of turns are standardised over the batch.

    G_t = r_t + gamma G_{t+1}        A_i = (G_i - mean(G)) / (std(G) + 1e-9)

Liu et al. 2025, "GEM: A Gym for Agentic LLMs". Mean and population standard deviation are over all
turns of the batch that subsampling chose, across episodes and environments.
"""

from dataclasses import dataclass

import torch

from gem_train.algorithm import Algorithm, check_fraction
from gem_train.batch import Batch
from gem_train.returns import discounted_returns
from gem_train.statistics import standardised

__all__ = ["REBN"]


@dataclass(frozen=True)
class REBN(Algorithm):
    """Return batch normalisation.

    Args:
        gamma: Discount per turn, in [0, 1].

    Raises:
        ConfigError: ``gamma`` is out of range.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_fraction(gamma=self.gamma)

    def advantages(self, batch: Batch) -> torch.Tensor:
        G_N = discounted_returns(batch, self.gamma)
        return standardised(G_N, batch.chosen)
