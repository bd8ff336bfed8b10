"""Work that may hang, crash or eat memory, done in supervised processes: see ``WorkerPool``."""

from gem_core.workers.pool import WorkerPool, shared_pool

__all__ = ["WorkerPool", "shared_pool"]
