"""Deprecated: this module is now ``gem_train.transitions``."""

import warnings
from typing import Any

from gem_train import transitions

_RENAMED = {"Sample": "Transition", "samples_of": "transitions_of", "played": "trainable"}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"gem_train.samples.{name} is now gem_train.transitions.{_RENAMED[name]}.",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(transitions, _RENAMED[name])
