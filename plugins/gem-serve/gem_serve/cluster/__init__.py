"""Ray: environments in the actors of a cluster. docs/ray.md describes it.

``RayPool`` plays the episodes of rollouts, evaluation and training; ``RayExecutor`` holds the
environments of a vector.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_serve.cluster.executor import RayExecutor
    from gem_serve.cluster.pool import RayPool

__all__ = ["RayExecutor", "RayPool"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"executor": ("RayExecutor",), "pool": ("RayPool",)},
)
