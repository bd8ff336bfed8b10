"""gem: the API of gem-llm, on top of gem-core and its plugins.

Scripts and trainers written for gem-llm import this package instead, unchanged. Its
modules have gem-llm's paths and contain only adapters. Names are imported on first use, so
``import gem`` stays light.

Raises:
    InstallationError: gem-llm is installed too; both are the package ``gem``.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import gem.modules  # noqa: F401 - makes the modules without a file importable
from gem.__about__ import __version__
from gem.errors import InstallationError

if TYPE_CHECKING:
    from gem.core import Env
    from gem.envs.registration import make, make_vec, print_envs, register

_MODULES = {
    "gem.core": ("Env",),
    "gem.envs.registration": ("make", "make_vec", "print_envs", "register"),
}
_PACKAGES = ("core", "envs", "tools", "utils", "vector", "wrappers")
"""Modules that ``import gem`` makes available; each is imported on first use."""
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["Env", "__version__", "make", "make_vec", "print_envs", "register"]


def _refuse_gem_llm() -> None:
    # Reading the folders is ten times faster than importing importlib.metadata.
    for place in sys.path:
        try:
            entries = os.listdir(place or ".")  # noqa: PTH208 - pathlib takes as long
        except OSError:
            continue
        for entry in entries:
            if entry.startswith("gem_llm") and entry.endswith((".dist-info", ".egg-info")):
                raise InstallationError(
                    f"gem-compat and gem-llm are both installed ({entry} in {place or '.'}), and "
                    f"both are the package 'gem': their files overwrite each other. Keep one of "
                    f"them: run 'pip uninstall gem-llm gem-compat', then 'pip install gem-compat', "
                    f"or 'pip install gem-llm'."
                )


_refuse_gem_llm()


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"gem.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'gem' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
