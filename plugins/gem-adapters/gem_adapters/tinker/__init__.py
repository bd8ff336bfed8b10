"""tinker-cookbook: environments, groups of environments and datasets of them.

tinker-cookbook holds the loop and samples; ``GemEnv`` gives it prompts and takes replies. Rewards
go with their turns, and an episode of several sequences becomes several data. A fault is raised, so
that the rollout strategy of the trainer decides: ``FailFast`` ends the run, ``RetryOnFailure``
plays the episode again, ``MinViableGroup`` drops it from its group.
"""

from gem_adapters.tinker.builder import GemDatasetBuilder
from gem_adapters.tinker.env import GemEnv
from gem_adapters.tinker.groups import GemDataset, GemGroupBuilder

__all__ = ["GemDataset", "GemDatasetBuilder", "GemEnv", "GemGroupBuilder"]
