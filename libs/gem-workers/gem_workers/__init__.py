"""Supervised processes for functions that may hang, crash or use up memory: ``WorkerPool``."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_workers.pool import WorkerPool, shared_pool

__all__ = ["WorkerPool", "shared_pool"]

__getattr__, __dir__ = lazy_names(__name__, {"pool": ("WorkerPool", "shared_pool")})
