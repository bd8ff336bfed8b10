"""Deprecated names: they are in a library now, and were in gem_core before."""

import importlib
import warnings
from typing import Any

from gem_core.errors import EntryPointError

__all__ = ["moved_name"]


def moved_name(name: str, module: str, distribution: str) -> Any:
    """Return a name from the library that has it now, with a ``DeprecationWarning``.

    Raises:
        EntryPointError: The library is not installed; the message says how to install it.
    """
    try:
        value = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise EntryPointError(
            f"gem_core.{name} is in the library {distribution}: pip install {distribution}"
        ) from error
    warnings.warn(
        f"gem_core.{name} has moved: use {module}.{name}. The old name will be removed in 0.2.",
        DeprecationWarning,
        stacklevel=3,
    )
    return value
