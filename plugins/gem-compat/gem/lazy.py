"""Modules that are imported when they are looked up.

After ``import gem``, code for gem-llm uses ``gem.envs.registration`` without a further import.
"""

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType

__all__ = ["modules_of"]


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """Return the ``__getattr__`` of a package, which imports its modules on first use."""

    def getattribute(name: str) -> ModuleType:
        module = f"{package}.{name}"
        if name.startswith("__") or importlib.util.find_spec(module) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(module)

    return getattribute
