"""GSPO: one ratio for a whole sequence, the geometric mean of those of its tokens.

    s = (pi(y) / pi_old(y)) ^ (1 / |y|)        loss = max(-A s, -A clip(s, 1 - low, 1 + high))

Zheng et al. 2025, "Group Sequence Policy Optimization". A sequence is a row: an episode, or a turn
with ``loss.rows=turns``. Advantages are GRPO's.
"""

from dataclasses import dataclass

from torch import Tensor

from gem_train.algorithms.grpo import GRPO
from gem_train.loss import Clip

__all__ = ["GSPO", "GSPOLoss"]


@dataclass(frozen=True)
class GSPO(GRPO):
    """GRPO's advantages."""

    loss = "gspo"


@dataclass(frozen=True)
class GSPOLoss(Clip):
    """GSPO's loss.

    Args:
        clip_low: Distance below 1 at which the ratio is clipped, in [0, 1].
        clip_high: Distance above 1 at which the ratio is clipped, 0 or more.
        dual_clip: Largest ratio that counts if the advantage is negative, above 1; None for none.
    """

    clip_low: float = 3e-4
    clip_high: float = 4e-4

    def __call__(self, logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        mean = mean_log_ratio(logprobs, old, mask)
        return super().__call__(mean, mean.new_zeros(()), advantages, mask)

    def clipped(self, logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        mean = mean_log_ratio(logprobs, old, mask)
        return super().clipped(mean, mean.new_zeros(()), advantages, mask)


def mean_log_ratio(logprobs: Tensor, old: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of each row's log-ratios, at all of its tokens, (S, L)."""
    log_ratios = (logprobs - old) * mask
    tokens = mask.sum(-1, keepdim=True).clamp(min=1)
    return (log_ratios.sum(-1, keepdim=True) / tokens).expand_as(logprobs)
