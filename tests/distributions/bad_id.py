"""A plugin with an id that is none."""

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add an environment without a namespace."""
    registry.add(EnvSpec(id="NoNamespace", entry_point="collections:Counter"))
