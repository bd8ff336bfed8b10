"""The plugin: registers the commands without importing them."""

from gem_core import CommandSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
    registry.add(
        CommandSpec(
            id="check-adapter",
            entry_point="gem_adapters.check_adapter:command",
            description="Check that a trainer gets the same tokens, masks and rewards as others",
        ),
        CommandSpec(
            id="rows",
            entry_point="gem_adapters.rows_command:command",
            description="Write a dataset of episodes for a trainer",
        ),
    )
