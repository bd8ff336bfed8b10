"""Ray: environments in the actors of a cluster. docs/ray.md describes it."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_serve.cluster.pool import RayPool

__all__ = ["RayPool"]

__getattr__, __dir__ = lazy_names(__name__, {"pool": ("RayPool",)})
