"""The algorithms by id: one file in ``gem_train/algorithms`` and one line here for each."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gem_core.errors import ConfigError, UnknownIdError, near_names
from gem_core.specs import load_entry_point

__all__ = ["ALGORITHMS", "Algorithm", "check_fraction", "load_algorithm"]

ALGORITHMS = {
    "reinforce": "gem_train.algorithms.reinforce:REINFORCE",
    "rebn": "gem_train.algorithms.rebn:REBN",
    "grpo": "gem_train.algorithms.grpo:GRPO",
    "drgrpo": "gem_train.algorithms.grpo:DR_GRPO",
    "rloo": "gem_train.algorithms.grpo:RLOO",
    "ep_level": "gem_train.algorithms.grpo:EP_LEVEL",
    "ppo": "gem_train.algorithms.ppo:PPO",
}
"""Where each algorithm is. The modules import torch, so they are read when asked for."""


@dataclass(frozen=True)
class Algorithm:
    """How advantages are made.

    Args:
        config: Its configuration, a frozen dataclass that checks what it is given.
        advantages: ``advantages(batch, config, values=None)`` returns the advantage of each turn,
            (N,); ``values`` are a critic's, (N,). Nothing in it has a gradient.
        length_norm: The normalisation by length that its authors use (``losses.loss_weights``).
        targets: ``targets(batch, config, values)`` returns what the critic is to predict, (N,);
            None for an algorithm without a critic.
        needs_groups: Whether it compares episodes of the same start state, so that there must be
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
        name: Its id, such as ``rebn``.

    Raises:
        UnknownIdError: There is none of this id.
        ConfigError: torch is missing.
    """
    if name not in ALGORITHMS:
        raise UnknownIdError(
            f"No algorithm {name!r}.{near_names(name, ALGORITHMS)} There are: "
            f"{', '.join(ALGORITHMS)}."
        )
    if importlib.util.find_spec("torch") is None:
        raise ConfigError(f"The algorithm {name!r} needs torch: pip install gem-train[torch].")
    algorithm: Algorithm = load_entry_point(ALGORITHMS[name])
    return algorithm


def check_fraction(**values: float) -> None:
    """Check values of a configuration, given by name.

    Raises:
        ConfigError: One is not in [0, 1].
    """
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} must be between 0 and 1, got {value!r}.")
