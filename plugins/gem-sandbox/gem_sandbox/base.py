"""Deprecated: the base classes of sandboxes are in ``gem_workers.base_sandbox``."""

import warnings
from typing import Any

from gem_workers import base_sandbox

__all__ = ["BaseSandbox", "ReplaySession"]  # noqa: F822 - see __getattr__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = (
        f"gem_sandbox.base.{name} has moved: use gem_workers.base_sandbox.{name}. "
        f"The old name will be removed in 0.2."
    )
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return getattr(base_sandbox, name)
