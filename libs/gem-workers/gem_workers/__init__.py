"""Code that runs in other processes: sandboxes, machines, and pools of workers.

The protocols of sandboxes and machines are here; plugins such as gem-sandbox bring them.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_workers.base_sandbox import BaseSandbox, ReplaySession, SessionEndedError
    from gem_workers.cancellation import Cancellation, cancellable, run_in_thread
    from gem_workers.machine import MachineSpec, make_machine, make_machine_provider
    from gem_workers.pool import WorkerPool, shared_pool
    from gem_workers.pools import Pool
    from gem_workers.sandbox import Execution, Program, Sandbox, SandboxSession, make_sandbox

__all__ = [
    "BaseSandbox",
    "Cancellation",
    "Execution",
    "MachineSpec",
    "Pool",
    "Program",
    "ReplaySession",
    "Sandbox",
    "SandboxSession",
    "SessionEndedError",
    "WorkerPool",
    "cancellable",
    "make_machine",
    "make_machine_provider",
    "make_sandbox",
    "run_in_thread",
    "shared_pool",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base_sandbox": ("BaseSandbox", "ReplaySession", "SessionEndedError"),
        "cancellation": ("Cancellation", "cancellable", "run_in_thread"),
        "machine": ("MachineSpec", "make_machine", "make_machine_provider"),
        "pool": ("WorkerPool", "shared_pool"),
        "pools": ("Pool",),
        "sandbox": ("Execution", "Program", "Sandbox", "SandboxSession", "make_sandbox"),
    },
)
