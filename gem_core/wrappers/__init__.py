"""Wrappers that come with gem-core, one file each; ``make(id, wrappers=[...])`` takes their ids."""

from gem_core.wrappers.history import HistoryWrapper
from gem_core.wrappers.time_limit import TimeLimit
from gem_core.wrappers.tools import ToolWrapper
from gem_core.wrappers.tracking import EpisodeTracking

__all__ = ["EpisodeTracking", "HistoryWrapper", "TimeLimit", "ToolWrapper"]
