"""Counts steps and sums rewards."""

from gem.core import EnvWrapper
from gem_core.wrappers.tracking import EpisodeTracking

__all__ = ["EpisodeTrackingWrapper"]


class EpisodeTrackingWrapper(EpisodeTracking, EnvWrapper):  # type: ignore[misc]  # spawn by keywords
    """Adds ``step_counter`` and ``cumulative_rewards`` to ``info``; the outermost wrapper."""

    layer = None  # type: ignore[assignment]  # gem-llm takes any order
    only_one_of = ""
