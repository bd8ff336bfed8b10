"""Rollouts: collect episodes as trajectories, and keep them in files."""

from gem_core.rollout.collect import collect, play_episode
from gem_core.rollout.store import TrajectoryFile, read_trajectories
from gem_core.rollout.trajectory import Trajectory, Turn

__all__ = [
    "Trajectory",
    "TrajectoryFile",
    "Turn",
    "collect",
    "play_episode",
    "read_trajectories",
]
