"""Loads a pretrained model for training: its device, its precision and its adapters."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_rollout.models.pretrained import base_model, find_pretrained
from gem_rollout.models.vision import load_with_processor

__all__ = ["Pretrained", "load_pretrained", "pick_device"]


def pick_device(name: str) -> torch.device:
    """Return a device by name; ``auto`` is CUDA where there is one, else the CPU.

    Raises:
        ConfigError: There is no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"The device {name!r} cannot be used: {error}") from error
    return device


class Pretrained(NamedTuple):
    """A model that was loaded for training.

    Args:
        model: A causal language model of transformers, optionally wrapped by peft.
        processor: Its processor if it reads images, else its tokenizer.
        masters: The weights in float32 by name, if the model's are rounded from them.
    """

    model: Any
    processor: Any
    masters: dict[str, torch.Tensor] | None


def load_pretrained(
    path: str | os.PathLike[str],
    *,
    device: str,
    precision: Literal["float32", "bf16"],
    lora: Mapping[str, Any] | None,
    gradient_checkpointing: bool,
    attn_implementation: str | None,
) -> Pretrained:
    """Load a model in evaluation mode, without dropout; arguments and errors: ``Policy.load``."""
    require("gem-train[torch]", "Training")
    if lora is not None:
        require("gem-train[lora]", "lora")
    chosen = pick_device(device)
    is_short = precision == "bf16"
    dtype = torch.bfloat16 if is_short and lora is not None else torch.float32
    found, options = find_pretrained(path)
    if attn_implementation is not None:
        options["attn_implementation"] = attn_implementation
    try:
        model, processor = load_with_processor(found, options, dtype=dtype)
        masters = _shorten(model) if is_short else None
        model.to(chosen)
    except (OSError, ValueError, RuntimeError, AttributeError, ImportError) as error:
        raise ConfigError(f"The model {str(path)!r} cannot be loaded: {error}") from error
    _disable_dropout(model)
    if lora is not None:
        model = _with_adapters(model, lora)
        if Path(found).is_dir():  # so that checkpoints load in any working directory
            own = model.peft_config[model.active_adapter]
            own.base_model_name_or_path = str(Path(found).resolve())
    if gradient_checkpointing:
        _checkpoint_gradients(base_model(model))
    return Pretrained(model.eval(), processor, masters)


def _disable_dropout(model: Any) -> None:
    """Disable dropout, so that learner and sampler compute the same probabilities."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if name.endswith("dropout") and isinstance(value, float):
                setattr(module, name, 0.0)


def _shorten(model: Any) -> dict[str, torch.Tensor]:
    """Round the parameters of a model to bfloat16, and return them as they were, by name.

    Buffers keep their type: positions need more than bfloat16 can represent.
    """
    before = {name: one.detach() for name, one in model.named_parameters()}
    for one in model.parameters():
        one.data = one.data.to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    return before


def _with_adapters(model: Any, lora: Mapping[str, Any]) -> Any:
    import peft  # noqa: PLC0415 - optional

    options = {"target_modules": "all-linear", "task_type": "CAUSAL_LM", **lora}
    # Adapters have the type of the model, and masters in float32.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # raised by peft's use of transformers
            config = peft.LoraConfig(**options)
            return peft.get_peft_model(model, config, autocast_adapter_dtype=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"lora: {error}") from error


def _checkpoint_gradients(model: Any) -> None:
    """Make a model recompute activations in the backward pass, to save memory."""
    model.enable_input_require_grads()
    # Its name in transformers 5, else the older one.
    name = "activation_checkpointing_enable"
    name = name if hasattr(model, name) else "gradient_checkpointing_enable"
    getattr(model, name)({"use_reentrant": False})
