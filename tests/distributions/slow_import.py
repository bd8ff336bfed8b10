"""A plugin that takes its time."""

import time

from gem_core import EnvSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]

begun = time.thread_time()
while time.thread_time() < begun + 0.6:
    pass


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add an environment."""
    registry.add(EnvSpec(id="slow:A-v0", entry_point="collections:Counter"))
