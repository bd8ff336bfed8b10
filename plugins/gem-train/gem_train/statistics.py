"""Means and standard deviations over a batch and over groups.

Values are shifted by their minimum first. This changes nothing in exact arithmetic. In floating
point, it makes the deviations of equal values exactly 0; without it, rounding errors divided by a
standard deviation that is itself a rounding error would be of order 1.
"""

import torch

__all__ = ["EPSILON", "from_group_mean", "from_mean_of_others", "group_std", "standardised"]

EPSILON = 1e-9
"""Added to a standard deviation before dividing by it."""


def standardised(x: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    """Return ``(x - mean) / (std + 1e-9)``, with the population standard deviation.

    Args:
        x: Values, (N,).
        where: The values that mean and deviation are computed from, at least one; bool, (N,).
    """
    shifted = x - x[where].min()
    mean, std = shifted[where].mean(), shifted[where].std(correction=0)
    return (shifted - mean) / (std + EPSILON)


def from_group_mean(x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    """Return ``x - mean of its group``.

    Args:
        x: Values, (E,).
        group: Group of each, in [0, K); (E,).
    """
    shifted = _shifted(x, group)
    return shifted - (_sum(shifted, group) / _sizes(x, group))[group]


def from_mean_of_others(x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    """Return ``x - mean of the others in its group``; 0 in a group of one.

    Args:
        x: Values, (E,).
        group: Group of each, in [0, K); (E,).
    """
    shifted, others = _shifted(x, group), (_sizes(x, group) - 1)[group]
    of_others = (_sum(shifted, group)[group] - shifted) / others.clamp(min=1)
    return torch.where(others > 0, shifted - of_others, 0)


def group_std(x: torch.Tensor, group: torch.Tensor, *, unbiased: bool = False) -> torch.Tensor:
    """Return the standard deviation of each value's group, (E,).

    Args:
        x: Values, (E,).
        group: Group of each, in [0, K); (E,).
        unbiased: Whether to divide by n - 1 instead of n; the result is 0 in a group of one.
    """
    squares = from_group_mean(x, group) ** 2
    sizes = (_sizes(x, group) - int(unbiased)).clamp(min=1)
    return (_sum(squares, group) / sizes).sqrt()[group]


def _sum(x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    return x.new_zeros(int(group.max()) + 1).index_add(0, group, x)


def _sizes(x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    return _sum(torch.ones_like(x), group)


def _shifted(x: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    least = x.new_zeros(int(group.max()) + 1)
    return x - least.scatter_reduce(0, group, x, "amin", include_self=False)[group]
