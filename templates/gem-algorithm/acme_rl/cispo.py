"""CISPO: the ratio is clipped as a weight, so no token loses its gradient.

    loss = - sg[clip(rho, 1 - low, 1 + high)] A log pi        rho = pi / pi_old

sg is the stop-gradient. MiniMax 2025, "MiniMax-M1: Scaling Test-Time Compute Efficiently with
Lightning Attention". Advantages are GRPO's.
"""

from dataclasses import dataclass

from torch import Tensor

from gem_train.algorithms.grpo import GRPO
from gem_train.loss import Clip

__all__ = ["CISPO", "CISPOLoss"]


@dataclass(frozen=True)
class CISPO(GRPO):
    """GRPO's advantages, with the same weight for every token of the batch."""

    loss = "cispo"
    length_norm = "token"


@dataclass(frozen=True)
class CISPOLoss(Clip):
    """CISPO's loss.

    Args:
        clip_low: Distance below 1 at which a ratio is clipped, in [0, 1]; 1 for no limit.
        clip_high: Distance above 1 at which a ratio is clipped, 0 or more.
        dual_clip: Not used.
    """

    clip_low: float = 1.0
    clip_high: float = 0.28

    def __call__(self, logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        ratio = (logprobs.detach() - old).clamp(-20, 20).exp()
        return -ratio.clamp(1 - self.clip_low, 1 + self.clip_high) * advantages * logprobs
