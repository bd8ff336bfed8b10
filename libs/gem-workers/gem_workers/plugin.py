"""The specs that gem-workers adds to the registry."""

from gem_core import ExecutorSpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the executor that runs environments in worker processes."""
    registry.add(
        ExecutorSpec(
            id="processes",
            entry_point="gem_workers.executor:ProcessesExecutor",
            description="in worker processes, for environments that compute",
        )
    )
