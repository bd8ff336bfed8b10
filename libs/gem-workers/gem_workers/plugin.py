"""The specs that gem-workers adds to the registry."""

from gem_core import CheckSpec, ExecutorSpec, KindSpec, hookimpl
from gem_core.registry import Registry
from gem_workers.pools import PoolSpec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add pools, the executor ``processes`` and the checks of sandboxes and machines."""
    registry.add(
        KindSpec(
            id="pools",
            entry_point="gem_workers.pools:PoolSpec",
            description="pools of workers that play environments",
            group="executor",
        )
    )
    registry.add(
        PoolSpec(
            id="processes",
            entry_point="gem_workers.pool:WorkerPool",
            description="worker processes on this machine",
        ),
        ExecutorSpec(
            id="processes",
            entry_point="gem_workers.executor:ProcessesExecutor",
            description="in worker processes, for environments that compute",
        ),
        CheckSpec(
            id="sandbox",
            entry_point="gem_workers.testing:check_registered_sandbox",
            description="the contract of sandboxes",
        ),
        CheckSpec(
            id="machine",
            entry_point="gem_workers.testing:check_registered_machine",
            description="the contract of machines",
        ),
    )
