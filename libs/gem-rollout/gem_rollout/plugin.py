"""The specs that gem-rollout adds to the registry."""

from gem_core import CommandSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the command ``gem-core run``."""
    registry.add(
        CommandSpec(
            id="run",
            entry_point="gem_rollout.run_command:command",
            description="Play episodes and print a table of results",
        )
    )
