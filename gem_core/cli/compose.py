"""Deprecated: these functions are in ``gem_core.commands`` and ``gem_core.overrides``."""

import warnings
from typing import Any

from gem_core import commands, overrides

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    for module in (commands, overrides):
        if name in module.__all__:
            message = f"gem_core.cli.compose has moved: use {module.__name__}.{name}."
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
