"""Returns of turns and episodes, computed from their rewards."""

import torch

from gem_train.batch import Batch

__all__ = ["discounted_returns", "episode_groups", "episode_returns"]


def discounted_returns(batch: Batch, gamma: float) -> torch.Tensor:
    """Return ``G_t = r_t + gamma G_{t+1}`` of each turn, with 0 after the last; (N,).

    Args:
        batch: Turns of whole episodes.
        gamma: Discount per turn, in [0, 1].
    """
    r_E_T = batch.table(batch.reward)
    G_E_T = torch.zeros_like(r_E_T)
    for t in reversed(range(r_E_T.shape[1] - 1)):
        G_E_T[:, t] = r_E_T[:, t] + gamma * G_E_T[:, t + 1]
    return G_E_T[batch.episode, batch.turn]


def episode_returns(batch: Batch) -> torch.Tensor:
    """Return the undiscounted sum of the rewards of each episode, (E,)."""
    return batch.table(batch.reward).sum(-1)


def episode_groups(batch: Batch) -> torch.Tensor:
    """Return the group of each episode, in [0, K); (E,)."""
    group_E = batch.group.new_zeros(batch.episodes)
    group_E[batch.episode] = batch.group
    return group_E
