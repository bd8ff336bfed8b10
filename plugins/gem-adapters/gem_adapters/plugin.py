"""The plugin: registers the commands without importing them."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import COMMANDS, Spec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
    registry.add(
        Spec(
            kind=COMMANDS,
            id="check-adapter",
            entry_point="gem_adapters.check_adapter:command",
            description="Check that a trainer gets the same tokens, masks and rewards as others",
        ),
        Spec(
            kind=COMMANDS,
            id="rows",
            entry_point="gem_adapters.rows_command:command",
            description="Write a dataset of episodes for a trainer",
        ),
    )
