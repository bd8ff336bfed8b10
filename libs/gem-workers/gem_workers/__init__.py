"""Code that runs in other processes: pools of workers, and the base class of sandboxes."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_workers.base_sandbox import BaseSandbox, ReplaySession, SessionEndedError
    from gem_workers.cancellation import Cancellation, cancellable, run_in_thread
    from gem_workers.pool import WorkerPool, shared_pool
    from gem_workers.pools import Pool

__all__ = [
    "POOLS",
    "BaseSandbox",
    "Cancellation",
    "Pool",
    "ReplaySession",
    "SessionEndedError",
    "WorkerPool",
    "cancellable",
    "run_in_thread",
    "shared_pool",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base_sandbox": ("BaseSandbox", "ReplaySession", "SessionEndedError"),
        "cancellation": ("Cancellation", "cancellable", "run_in_thread"),
        "pool": ("WorkerPool", "shared_pool"),
        "pools": ("Pool", "POOLS"),
    },
)
