"""verl's estimators of advantages in groups, without the rows of episodes that an error ended.

Such a row is fully masked. verl's own estimators count it as a score of 0 in the mean of its group;
those that are registered here, ``gem_grpo`` and so on, leave it out. verl imports this module by
the entry point ``verl.plugins``.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from verl.trainer.ppo.core_algos import get_adv_estimator_fn, register_adv_est

__all__ = ["GROUPED", "PREFIX", "among_played"]

GROUPED = (
    "gpg",
    "grpo",
    "grpo_passk",
    "grpo_vectorized",
    "opo",
    "reinforce_plus_plus_baseline",
    "rloo",
    "rloo_vectorized",
)
"""verl's estimators that compare the rows of a group."""
PREFIX = "gem_"


def among_played(
    estimator: Callable[..., tuple[torch.Tensor, torch.Tensor]],
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Any,
    config: Any = None,
    **options: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return advantages and returns of a batch; fully masked rows get 0 and do not count.

    Args:
        estimator: verl's function.
        token_level_rewards: Shape (rows, tokens).
        response_mask: Shape (rows, tokens); 1 for the tokens that the model sampled.
        index: The group of each row, an array.
        config: verl's configuration of the algorithm.
        **options: Further arguments of verl's function.

    Returns:
        Two tensors of the shape (rows, tokens).
    """
    played = response_mask.bool().any(dim=-1)
    found = torch.zeros_like(token_level_rewards), torch.zeros_like(token_level_rewards)
    if played.any():
        inner = estimator(
            token_level_rewards=token_level_rewards[played],
            response_mask=response_mask[played],
            index=index[played.cpu().numpy()],
            config=config,
            **options,
        )
        for whole, part in zip(found, inner, strict=True):
            whole[played] = part.to(whole.dtype)
    return found


def _grpo(**arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Call verl's estimator as verl does, which reads one option of it itself."""
    config = arguments.get("config")
    by_std = True if config is None else config.get("norm_adv_by_std_in_grpo", True)
    function: Any = get_adv_estimator_fn("grpo")
    return function(**arguments, norm_adv_by_std_in_grpo=by_std)  # type: ignore[no-any-return]


for _name in GROUPED:
    _function = _grpo if _name == "grpo" else get_adv_estimator_fn(_name)
    register_adv_est(f"{PREFIX}{_name}")(functools.partial(among_played, _function))
