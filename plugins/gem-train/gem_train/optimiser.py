"""Makes the optimiser: AdamW, or AdamW whose moments take a byte each."""

from typing import Any

import torch

from gem_core.extras import require
from gem_train.config import OptimiserConfig

__all__ = ["make_optimizer"]


def make_optimizer(
    groups: list[dict[str, Any]], config: OptimiserConfig, device: torch.device
) -> torch.optim.Optimizer:
    """Return an optimiser.

    ``adamw8bit`` is that of torchao: moments in blocks of 256 numbers with a scale for each
    (Dettmers et al. 2022, "8-bit Optimizers via Block-wise Quantization").

    Args:
        groups: Groups of parameters, each with its learning rate.
        config: The configuration.
        device: The device of the parameters.

    Raises:
        NotInstalledError: torchao is not installed.
    """
    options = {"betas": config.betas, "eps": config.eps, "weight_decay": config.weight_decay}
    if config.kind == "adamw":
        return torch.optim.AdamW(groups, **options, fused=device.type in {"cpu", "cuda"})
    require("gem-train[adamw8bit]", "optim.kind=adamw8bit")
    from torchao.optim import AdamW8bit  # noqa: PLC0415 - optional

    made: torch.optim.Optimizer = AdamW8bit(groups, **options)
    return made
