"""A plugin as it should be."""

from gem_core import EnvSpec, ToolSpec, hookimpl
from gem_core.registry import Registry
from gem_core.specs import FAMILIES, Spec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add an environment, a tool and a family."""
    registry.add(
        EnvSpec(id="acme:Count-v0", entry_point="collections:Counter", kwargs={"length": 5}),
        ToolSpec(id="acme-tool", entry_point="collections:Counter"),
        Spec(kind=FAMILIES, id="acme-family", entry_point="no_such_module:Family"),
    )
