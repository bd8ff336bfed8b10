"""A plugin that gives one id twice."""

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the same id again."""
    for length in (1, 2):
        registry.add(
            EnvSpec(id="twice:A-v0", entry_point="collections:Counter", kwargs={"length": length})
        )
