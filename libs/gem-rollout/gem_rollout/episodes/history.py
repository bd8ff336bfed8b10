"""Finds out whether an environment shows the history of the episode itself."""

from typing import Any

from gem_core.env import Env, Layer, Wrapper

__all__ = ["history_wrapper"]


def history_wrapper(env: Env) -> Any:
    """Return the wrapper that shows the whole history in each observation, or None."""
    layer: Any = env
    while isinstance(layer, Wrapper):
        if layer.layer is Layer.HISTORY:
            return layer
        layer = layer.env
    return None
