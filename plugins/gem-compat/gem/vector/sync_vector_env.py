"""A vector whose environments step one after the other."""

from gem.vector.vector_env import VectorEnv

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(VectorEnv):
    """Steps one environment after the other; see ``VectorEnv``."""
