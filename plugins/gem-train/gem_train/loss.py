"""Policy losses: a loss of each token from its advantage and two log-probabilities.

A loss is one class and one spec in a plugin. The trainer multiplies the losses by
truncated importance weights, adds the KL and the entropy bonus, and reduces them to a number
(``objective.loss_weights``).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch

from gem_core.errors import ConfigError

__all__ = ["Clip", "Loss", "Reinforce", "policy_loss", "reinforce_loss"]

_MOST_LOG_RATIO = 20.0


class Loss(ABC):
    """Base class of policy losses; only ``__call__`` must be written.

    A function with the same four arguments is a loss too.
    """

    zero_without_advantage: ClassVar[bool] = False
    """Whether the loss and its gradient are 0 where the advantage is 0. Rows without an advantage
    are then not read, if no other term of the loss needs them."""

    @abstractmethod
    def __call__(
        self,
        logprobs: torch.Tensor,
        old_logprobs: torch.Tensor,
        advantages: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """Return the loss of each token, (S, L); it must be finite everywhere.

        All arguments have the shape (S, L): S rows of L positions. A row is one sequence: an
        episode (``loss.rows=episodes``) or a turn (``loss.rows=turns``).

        Args:
            logprobs: Log-probability of each sampled token in nats, with gradient; 0 elsewhere.
            old_logprobs: The same before the first update of the step, without gradient.
            advantages: The advantage of each sampled token, without gradient; 0 elsewhere.
            mask: The tokens that are learned from, bool; losses elsewhere are ignored.
        """

    def clipped(
        self,
        logprobs: torch.Tensor,
        old_logprobs: torch.Tensor,
        advantages: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor | None:
        """Return the mask of clipped tokens, bool, (S, L), for ``train/clipped``; None for none."""
        return None


def policy_loss(
    logprobs: torch.Tensor,
    old_logprobs: torch.Tensor,
    advantages: torch.Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
) -> torch.Tensor:
    """Return ``max(-A rho, -A clip(rho, 1 - low, 1 + high))`` with ``rho = pi / pi_old``.

    Schulman et al. 2017, "Proximal Policy Optimization Algorithms", equation 7. A separate upper
    limit is from Yu et al. 2025, "DAPO". With ``clip_low=1, clip_high=math.inf`` it is the plain
    importance sampling loss, ``-A rho``. With ``dual_clip=c``, the loss of a token with a negative
    advantage is at most ``-A c`` (Ye et al. 2020, "Mastering Complex Control in MOBA Games with
    Deep Reinforcement Learning").

    Args:
        logprobs: Log-probabilities of the current policy.
        old_logprobs: Log-probabilities before the first update, without gradient.
        advantages: Advantage of each token, without gradient.
        clip_low: Distance below 1 at which the ratio is clipped, in [0, 1].
        clip_high: Distance above 1 at which the ratio is clipped, at least 0.
        dual_clip: Largest ratio that counts if the advantage is negative, above 1; None for no
            limit.
    """
    # exp(20) is beyond any clip. Above exp(88), the unused branch would make gradients NaN.
    log_ratio = (logprobs - old_logprobs).clamp(-_MOST_LOG_RATIO, _MOST_LOG_RATIO)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    losses = torch.maximum(-advantages * ratio, -advantages * clipped)
    if dual_clip is None:
        return losses
    return torch.where(advantages < 0, losses.minimum(-advantages * dual_clip), losses)


def reinforce_loss(logprobs: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    """Return ``-A log pi``.

    Williams 1992. It is unbiased only for tokens that the current policy has sampled itself.

    Args:
        logprobs: Log-probabilities of the current policy.
        advantages: Advantage of each token, without gradient.
    """
    return -advantages * logprobs


@dataclass(frozen=True)
class Clip(Loss):
    """The clipped loss of PPO (``policy_loss``).

    Args:
        clip_low: Distance below 1 at which a ratio is clipped, in [0, 1].
        clip_high: Distance above 1 at which a ratio is clipped, at least 0.
        dual_clip: Largest ratio that counts if the advantage is negative, above 1; None for no
            limit.

    Raises:
        ConfigError: A value is out of range.
    """

    zero_without_advantage: ClassVar[bool] = True

    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.clip_low <= 1 or not self.clip_high >= 0:
            raise ConfigError(
                f"clip_low must be in [0, 1] and clip_high 0 or more; got {self.clip_low!r} and "
                f"{self.clip_high!r}."
            )
        if self.dual_clip is not None and not self.dual_clip > 1:
            raise ConfigError(f"dual_clip must be above 1, got {self.dual_clip!r}.")

    def __call__(
        self,
        logprobs: torch.Tensor,
        old_logprobs: torch.Tensor,
        advantages: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        return policy_loss(
            logprobs,
            old_logprobs,
            advantages,
            clip_low=self.clip_low,
            clip_high=self.clip_high,
            dual_clip=self.dual_clip,
        )

    def clipped(
        self,
        logprobs: torch.Tensor,
        old_logprobs: torch.Tensor,
        advantages: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """Return the mask of the ratios outside the limits, whatever the advantage."""
        ratio = (logprobs - old_logprobs).exp()
        return (ratio < 1 - self.clip_low) | (ratio > 1 + self.clip_high)


@dataclass(frozen=True)
class Reinforce(Loss):
    """The loss ``-A log pi`` (``reinforce_loss``)."""

    zero_without_advantage: ClassVar[bool] = True

    def __call__(
        self,
        logprobs: torch.Tensor,
        old_logprobs: torch.Tensor,
        advantages: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        return reinforce_loss(logprobs, advantages)
