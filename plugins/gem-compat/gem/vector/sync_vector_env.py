"""A vector whose environments step one after another."""

from gem.vector.vector_env import VectorEnv

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(VectorEnv):
    """Steps one environment after another; see ``VectorEnv``."""
