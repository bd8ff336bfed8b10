"""A plugin that shares an id with another distribution."""

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the id of both and one of its own."""
    registry.add(
        EnvSpec(id="clash:Both-v0", entry_point="collections:Counter"),
        EnvSpec(id="clash:Only-two", entry_point="collections:Counter"),
    )
