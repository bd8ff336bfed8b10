"""SkyRL: environments for skyrl-gym, and a generator for SkyRL's trainer.

``GemTextEnv`` needs skyrl-gym alone; SkyRL's generator holds the loop and passes text.
``GemGenerator`` needs SkyRL; it holds the loop and keeps the tokens as the engine sampled them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_adapters.skyrl.generator import GemGenerator
    from gem_adapters.skyrl.text_env import GemTextEnv, register

__all__ = ["GemGenerator", "GemTextEnv", "register"]

_MODULES = {"GemGenerator": "generator", "GemTextEnv": "text_env", "register": "text_env"}


def __getattr__(name: str) -> Any:
    """Import a part, and its framework with it, when it is used."""
    from importlib import import_module  # noqa: PLC0415

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
