"""PPO over turns: a critic's value of each prompt, and generalised advantage estimation.

    delta_t = r_t + gamma V_{t+1} (1 - d_t) - V_t
    A_t     = delta_t + gamma lambda (1 - d_t) A_{t+1}
    target of V_t = A_t + V_t

Schulman et al. 2016, "High-Dimensional Continuous Control Using Generalized Advantage Estimation",
and 2017, "Proximal Policy Optimization Algorithms". V_t is read at the end of the turn's prompt.
d_t is 1 in the last turn of an episode, even if the episode was truncated, unless ``bootstrap`` is
set. The clipped policy loss is ``loss.policy_loss``.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from gem_core.errors import ConfigError
from gem_train.algorithm import Algorithm, check_fraction
from gem_train.batch import Batch
from gem_train.statistics import standardised

__all__ = ["PPO", "gae", "value_loss"]


def gae(batch: Batch, values: torch.Tensor, gamma: float, gae_lambda: float) -> torch.Tensor:
    """Return the advantage of each turn by generalised advantage estimation, (N,).

    Args:
        batch: Turns of whole episodes.
        values: The critic's value of each turn's prompt, (N,).
        gamma: Discount per turn, in [0, 1].
        gae_lambda: Weight of later turns, in [0, 1].
    """
    r_E_T, V_E_T = batch.table(batch.reward), batch.table(values.detach())
    goes_on_E_T = 1 - batch.table(batch.done.to(r_E_T.dtype))
    A_E_T = torch.zeros_like(r_E_T)
    for t in reversed(range(r_E_T.shape[1] - 1)):
        goes_on = goes_on_E_T[:, t]
        delta = r_E_T[:, t] + gamma * V_E_T[:, t + 1] * goes_on - V_E_T[:, t]
        A_E_T[:, t] = delta + gamma * gae_lambda * goes_on * A_E_T[:, t + 1]
    return A_E_T[batch.episode, batch.turn]


@dataclass(frozen=True)
class PPO(Algorithm):
    """Proximal policy optimisation over turns.

    Args:
        gamma: Discount per turn, in [0, 1].
        gae_lambda: How far advantages look ahead, in [0, 1]: with 0 one turn, then the critic's
            value; with 1 the whole rest of the episode.
        whiten: Whether to standardise the advantages over the turns of the batch.
        bootstrap: Whether an episode that was truncated counts as one that goes on: the critic's
            value of its last prompt stands for the rewards from there. The last turn itself is not
            learned from, because nothing is known about what follows it.

    Raises:
        ConfigError: ``gamma`` or ``gae_lambda`` is out of range.
    """

    needs_critic: ClassVar[bool] = True

    gamma: float = 1.0
    gae_lambda: float = 1.0
    whiten: bool = True
    bootstrap: bool = False

    def __post_init__(self) -> None:
        check_fraction(gamma=self.gamma, gae_lambda=self.gae_lambda)

    def on_batch(self, batch: Batch) -> Batch:
        """With ``bootstrap``, put the value of a truncated episode's last turn in its place.

        A reward of V_t makes the advantage of the turn 0, and the turn before gets
        ``r + gamma V_t``. An episode of one turn stays as it is.
        """
        if not self.bootstrap:
            return batch
        value_N = _values_of(batch)
        cut_N = batch.truncated & batch.done & (batch.turn > 0)
        reward_N = torch.where(cut_N, value_N.to(batch.reward), batch.reward)
        chosen_N, trained_N = batch.chosen & ~cut_N, batch.trained & ~cut_N
        if not trained_N.any():  # subsampling may have chosen last turns only
            return batch
        return replace(batch, reward=reward_N, chosen=chosen_N, trained=trained_N)

    def advantages(self, batch: Batch) -> torch.Tensor:
        A_N = gae(batch, _values_of(batch), self.gamma, self.gae_lambda)
        return standardised(A_N, batch.chosen) if self.whiten else A_N

    def targets(self, batch: Batch) -> torch.Tensor:
        """Return the critic's target for each turn, ``A_t + V_t`` without whitening; (N,)."""
        value_N = _values_of(batch)
        return gae(batch, value_N, self.gamma, self.gae_lambda) + value_N.detach()


def _values_of(batch: Batch) -> torch.Tensor:
    if batch.value is None:
        raise ConfigError("PPO needs a critic's values; without a critic, use reinforce or rebn.")
    return batch.value


def value_loss(
    values: torch.Tensor, old_values: torch.Tensor, targets: torch.Tensor, clip: float = 0.2
) -> torch.Tensor:
    """Return ``max((V - R)^2, (clip(V, V_old +- c) - R)^2) / 2`` of each turn.

    Args:
        values: The critic's current values, of any shape.
        old_values: The critic's values before the first update, of the same shape.
        targets: The targets R, of the same shape.
        clip: The distance c beyond which a value gets no gradient for moving further; ``math.inf``
            for a plain squared error.
    """
    clipped = values.clamp(old_values - clip, old_values + clip)
    return torch.maximum((values - targets) ** 2, (clipped - targets) ** 2) / 2
