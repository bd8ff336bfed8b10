"""The specs that gem-workers adds to the registry."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import EXECUTORS, Spec
from gem_workers.machine import MACHINES
from gem_workers.sandbox import SANDBOXES

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the kinds of sandboxes and machines, and the executor ``processes``."""
    registry.add(
        SANDBOXES,
        MACHINES,
        Spec(
            kind=EXECUTORS,
            id="processes",
            entry_point="gem_workers.pool:WorkerPool",
            description="worker processes on this machine, for environments that compute",
        ),
    )
