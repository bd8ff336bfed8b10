"""The plugin: registers the commands without importing them."""

from gem_core import hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the commands."""
