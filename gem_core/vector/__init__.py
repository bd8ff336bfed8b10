"""Many environments behind one ``step``: see ``VectorEnv``."""

from gem_core.vector.executor import Executor
from gem_core.vector.slot import Autoreset, OnError
from gem_core.vector.vector_env import BatchStep, VectorEnv

__all__ = ["Autoreset", "BatchStep", "Executor", "OnError", "VectorEnv"]
