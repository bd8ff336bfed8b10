"""The plugin: registers the commands without importing them."""

from gem_core import CommandSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the command that checks adapters."""
    registry.add(
        CommandSpec(
            id="check-adapter",
            entry_point="gem_adapters.check_adapter:command",
            description="Check that a trainer gets the same tokens, masks and rewards as others",
        )
    )
