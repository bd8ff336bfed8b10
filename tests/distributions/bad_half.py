"""A plugin that fails after it has added half of its specs."""

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add one environment, then fail."""
    registry.add(EnvSpec(id="half:First-v0", entry_point="collections:Counter"))
    raise ZeroDivisionError("half way")
