"""The algorithms by id: one file in ``gem_train/algorithms`` and one line here for each."""

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gem_core.errors import ConfigError, UnknownIdError, near_names
from gem_core.specs import load_entry_point

__all__ = ["ALGORITHMS", "RENAMED", "Algorithm", "check_fraction", "load_algorithm"]

ALGORITHMS = {
    "reinforce": "gem_train.algorithms.reinforce:REINFORCE",
    "rebn": "gem_train.algorithms.rebn:REBN",
    "grpo": "gem_train.algorithms.grpo:GRPO",
    "drgrpo": "gem_train.algorithms.grpo:DR_GRPO",
    "rloo": "gem_train.algorithms.grpo:RLOO",
    "episode_reinforce": "gem_train.algorithms.grpo:EPISODE_REINFORCE",
    "ppo": "gem_train.algorithms.ppo:PPO",
}
"""Entry point of each algorithm. The modules import torch, so they are loaded on demand."""

RENAMED = {"ep_level": "episode_reinforce"}
"""Deprecated ids, which still work in this version, and their replacements."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: how advantages are computed from a batch.

    Args:
        config: Its configuration, a frozen dataclass that validates its fields.
        advantages: ``advantages(batch, config, values=None)`` returns the advantage of each turn,
            (N,), without a gradient; ``values`` are a critic's, (N,).
        length_norm: The length normalisation that its authors use (``losses.loss_weights``).
        targets: ``targets(batch, config, values)`` returns the targets of the critic, (N,); None
            for an algorithm without a critic.
        needs_groups: Whether it compares episodes that share a start state, so that it needs
            several of each.
    """

    config: type[Any]
    advantages: Callable[..., Any]
    length_norm: Literal["constant", "response", "token"] = "constant"
    targets: Callable[..., Any] | None = None
    needs_groups: bool = False


def load_algorithm(name: str) -> Algorithm:
    """Return an algorithm.

    Args:
        name: Its id, such as ``rebn``; a renamed id works with a ``FutureWarning``.

    Raises:
        UnknownIdError: No algorithm has this id.
        ConfigError: torch is not installed.
    """
    if name in RENAMED:
        message = f"The algorithm {name!r} is now called {RENAMED[name]!r}."
        warnings.warn(message, FutureWarning, stacklevel=2)
        name = RENAMED[name]
    if name not in ALGORITHMS:
        raise UnknownIdError(
            f"There is no algorithm {name!r}.{near_names(name, ALGORITHMS)} Algorithms: "
            f"{', '.join(ALGORITHMS)}."
        )
    if importlib.util.find_spec("torch") is None:
        raise ConfigError(f"The algorithm {name!r} needs torch: pip install gem-train[torch].")
    algorithm: Algorithm = load_entry_point(ALGORITHMS[name])
    return algorithm


def check_fraction(**values: float) -> None:
    """Check that values of a configuration, given by name, are in [0, 1].

    Raises:
        ConfigError: A value is out of range.
    """
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} must be between 0 and 1, got {value!r}.")
