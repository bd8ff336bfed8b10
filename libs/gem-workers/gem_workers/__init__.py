"""Code that runs in other processes: sandboxes, machines, and pools of workers.

The protocols of sandboxes and machines are here; plugins such as gem-sandbox bring them.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_workers.base_sandbox import BaseSandbox
    from gem_workers.cancellation import cancellable
    from gem_workers.machine import make_machine
    from gem_workers.pool import WorkerPool, shared_pool
    from gem_workers.pools import Pool
    from gem_workers.sandbox import Execution, Program, Sandbox, make_sandbox

__all__ = [
    "BaseSandbox",
    "Execution",
    "Pool",
    "Program",
    "Sandbox",
    "WorkerPool",
    "cancellable",
    "make_machine",
    "make_sandbox",
    "shared_pool",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base_sandbox": ("BaseSandbox",),
        "cancellation": ("cancellable",),
        "machine": ("make_machine",),
        "pool": ("WorkerPool", "shared_pool"),
        "pools": ("Pool",),
        "sandbox": ("Execution", "Program", "Sandbox", "make_sandbox"),
    },
)
