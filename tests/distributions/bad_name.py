"""A plugin whose hook is called almost like the hook."""

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_regster"]


@hookimpl
def gem_regster(registry: Registry) -> None:
    """Never called."""
    registry.add(EnvSpec(id="bad:Name-v0", entry_point="collections:Counter"))
