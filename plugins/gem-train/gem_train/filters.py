"""Episode filters: which groups of episodes are learned from.

With a filter, a step plays further episodes until ``rollout.episodes`` of them are kept, at most
``rollout.max_waves`` times as many. Metrics cover all episodes that were played.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gem_rollout import Trajectory

__all__ = ["DynamicSampling", "EpisodeFilter"]


class EpisodeFilter(ABC):
    """Base class of episode filters."""

    @abstractmethod
    def filter_groups(self, groups: Sequence[Sequence[Trajectory]]) -> Sequence[bool]:
        """Return for each group whether it is learned from.

        Args:
            groups: The episodes of each group, which share a start state. Episodes that ended in an
                error are left out, so a group may have fewer than the others, and at least one.
        """


@dataclass(frozen=True)
class DynamicSampling(EpisodeFilter):
    """Leaves out groups whose episodes all have the same result.

    Their advantages are 0 with every algorithm that compares the episodes of a group. Yu et al.
    2025, "DAPO", section 3.2.

    Args:
        metric: What is compared: the return, or success.
    """

    metric: Literal["return", "success"] = "return"

    def filter_groups(self, groups: Sequence[Sequence[Trajectory]]) -> list[bool]:
        return [len({self._result(one) for one in group}) > 1 for group in groups]

    def _result(self, trajectory: Trajectory) -> float:
        if self.metric == "success":
            return float(bool(trajectory.success))
        return trajectory.episode_return
