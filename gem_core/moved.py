"""Deprecated names: they work for one version more, and warn."""

import importlib
import warnings
from typing import Any

from gem_core.errors import EntryPointError

__all__ = ["moved_name"]


def moved_name(old: str, module: str, name: str) -> Any:
    """Return a name from where it is now, with a ``DeprecationWarning``.

    Args:
        old: The deprecated name, with its module.
        module: The module that has it now.
        name: Its name there.

    Raises:
        EntryPointError: The library that has it is not installed; the message says how to install
            it.
    """
    package = module.partition(".")[0]
    try:
        value = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        distribution = package.replace("_", "-")
        raise EntryPointError(
            f"{old} is in the library {distribution}: pip install {distribution}"
        ) from error
    message = f"{old} is deprecated: use {module}.{name}. It will be removed in 0.2."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return value
