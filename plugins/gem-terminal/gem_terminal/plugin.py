"""The specs that gem-terminal adds to the registry. Nothing here imports an environment."""

from gem_core import CommandSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
    registry.add(
        CommandSpec(
            id="terminal",
            entry_point="gem_terminal.commands:command",
            description="List the terminal tasks in a folder, and what runs here",
        )
    )
