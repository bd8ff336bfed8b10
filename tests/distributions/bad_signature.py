"""A plugin whose hook takes what no hook is given."""

from gem_core import hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry, settings: object) -> None:
    """Never called."""
