"""Rollouts: collect episodes as trajectories, and keep them in files."""

from gem_core.rollout.collect import AsyncRollout, Rollout, collect, collect_async
from gem_core.rollout.episode import play_episode
from gem_core.rollout.limits import AdaptiveLimit
from gem_core.rollout.multi_agent import play_agents
from gem_core.rollout.policy import Budget, FaultPolicy
from gem_core.rollout.report import EnvReport, Report
from gem_core.rollout.sources import Sampler, Source
from gem_core.rollout.store import EpisodeKey, TrajectoryFile, read_keys, read_trajectories
from gem_core.rollout.tokens import TokenSequence
from gem_core.rollout.trajectory import Trajectory, Turn

__all__ = [
    "AdaptiveLimit",
    "AsyncRollout",
    "Budget",
    "EnvReport",
    "EpisodeKey",
    "FaultPolicy",
    "Report",
    "Rollout",
    "Sampler",
    "Source",
    "TokenSequence",
    "Trajectory",
    "TrajectoryFile",
    "Turn",
    "collect",
    "collect_async",
    "play_agents",
    "play_episode",
    "read_keys",
    "read_trajectories",
]
