"""Reward shapers: the rewards that are learned from, computed from those of the environment.

Metrics and trajectories keep the environment's rewards. Several shapers are applied in their order.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from gem_core.errors import ConfigError
from gem_train.batch import Batch
from gem_train.objective import kl_to_reference

__all__ = ["KLPenalty", "Overlong", "RewardShaper"]


class RewardShaper(ABC):
    """Base class of reward shapers."""

    needs_reference: ClassVar[bool] = False
    """Whether ``batch.old_logprobs`` and ``batch.reference_logprobs`` are computed."""

    @abstractmethod
    def shape_rewards(self, batch: Batch) -> torch.Tensor:
        """Return the reward of each turn, (N,).

        Args:
            batch: The turns and tokens of whole episodes, with the rewards so far.
        """


@dataclass(frozen=True)
class Overlong(RewardShaper):
    """The soft overlong punishment: a penalty for responses that come near to a limit.

        r - penalty * min(1, max(0, n - (limit - buffer)) / buffer)

    n is the number of tokens of the turn's response. Yu et al. 2025, "DAPO", section 3.4.

    Args:
        limit: Number of tokens at which the whole penalty is due; for example
            ``sampling.max_new_tokens``.
        buffer: Number of tokens before the limit over which the penalty grows, in [1, ``limit``].
        penalty: The largest penalty, 0 or more.

    Raises:
        ConfigError: A value is out of range.
    """

    limit: int
    buffer: int
    penalty: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.buffer <= self.limit or not self.penalty >= 0:
            raise ConfigError(
                f"buffer must be in [1, limit] and penalty 0 or more; got limit={self.limit!r}, "
                f"buffer={self.buffer!r}, penalty={self.penalty!r}."
            )

    def shape_rewards(self, batch: Batch) -> torch.Tensor:
        excess_N = batch.response_tokens.to(batch.reward) - (self.limit - self.buffer)
        return batch.reward - self.penalty * (excess_N / self.buffer).clamp(0, 1)


@dataclass(frozen=True)
class KLPenalty(RewardShaper):
    """KL in the reward: each turn pays for its distance to the reference, the initial model.

        r_t - beta * sum over the tokens of turn t of KL

    Ziegler et al. 2019, "Fine-Tuning Language Models from Human Preferences". It is computed with
    the policy before the first update of the step. ``loss.kl`` is the KL as a term of the loss.

    Args:
        beta: Coefficient, 0 or more.
        estimator: Estimator of the KL of a token, see ``losses.kl_to_reference``.

    Raises:
        ConfigError: ``beta`` is negative.
    """

    needs_reference: ClassVar[bool] = True

    beta: float = 0.01
    estimator: Literal["k1", "k2", "k3"] = "k1"

    def __post_init__(self) -> None:
        if not self.beta >= 0:
            raise ConfigError(f"beta must be 0 or more, got {self.beta!r}.")

    def shape_rewards(self, batch: Batch) -> torch.Tensor:
        if batch.old_logprobs is None or batch.reference_logprobs is None:
            raise ConfigError("KL in the reward needs the log-probabilities of both models.")
        kl_S_L = kl_to_reference(batch.old_logprobs, batch.reference_logprobs, self.estimator)
        return batch.reward - self.beta * batch.to_turns(kl_S_L).to(batch.reward)
