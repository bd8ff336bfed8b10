"""A plugin whose hook lacks the marker."""

from gem_core.registry import Registry

__all__ = ["gem_register"]


def gem_register(registry: Registry) -> None:
    """Never called."""
