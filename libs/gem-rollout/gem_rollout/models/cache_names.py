"""The name of the KV cache among the arguments and outputs of transformers' models."""

import inspect
from typing import Any

from gem_rollout.models.pretrained import base_model

__all__ = ["cache_name"]


def cache_name(model: Any) -> str | None:
    """Return ``cache``, the older ``past_key_values``, or None if the model takes no cache.

    transformers renamed it in version 5.24.

    Args:
        model: A model of transformers, optionally wrapped by peft.
    """
    base = base_model(model)
    parameters = inspect.signature(base.forward).parameters
    return next((name for name in ("cache", "past_key_values") if name in parameters), None)
