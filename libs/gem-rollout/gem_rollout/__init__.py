"""Rollouts: collect episodes as trajectories, and store them in files."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_rollout.episodes.components import Component
    from gem_rollout.episodes.episode import play_episode
    from gem_rollout.episodes.policy import Budget, FaultPolicy
    from gem_rollout.episodes.report import Report
    from gem_rollout.episodes.rollout import collect
    from gem_rollout.multi_agent import (
        MultiAgentEnv,
        MultiAgentStep,
        as_single,
        play_agents,
    )
    from gem_rollout.records.rows import Row, training_rows
    from gem_rollout.records.store import TrajectoryFile, read_trajectories
    from gem_rollout.records.trajectory import Trajectory, Turn
    from gem_rollout.tokens.dataset_rows import RowEnvs, env_rows, row_of
    from gem_rollout.tokens.limits import Limits
    from gem_rollout.tokens.play import play_batch, play_tokens
    from gem_rollout.tokens.reply import Prompt, ReplyError
    from gem_rollout.tokens.sampler import Sampled
    from gem_rollout.tokens.session import TokenSession

_MODULES = {
    "episodes.rollout": ("collect",),
    "episodes.episode": ("play_episode",),
    "multi_agent": (
        "MultiAgentEnv",
        "MultiAgentStep",
        "as_single",
        "play_agents",
    ),
    "episodes.policy": ("Budget", "FaultPolicy"),
    "episodes.report": ("Report",),
    "episodes.components": ("Component",),
    "records.store": ("TrajectoryFile", "read_trajectories"),
    "tokens.dataset_rows": ("RowEnvs", "env_rows", "row_of"),
    "tokens.limits": ("Limits",),
    "tokens.sampler": ("Sampled",),
    "tokens.play": ("play_batch", "play_tokens"),
    "tokens.reply": ("Prompt", "ReplyError"),
    "tokens.session": ("TokenSession",),
    "records.rows": ("Row", "training_rows"),
    "records.trajectory": ("Trajectory", "Turn"),
}

__all__ = [
    "Budget",
    "Component",
    "FaultPolicy",
    "Limits",
    "MultiAgentEnv",
    "MultiAgentStep",
    "Prompt",
    "ReplyError",
    "Report",
    "Row",
    "RowEnvs",
    "Sampled",
    "TokenSession",
    "Trajectory",
    "TrajectoryFile",
    "Turn",
    "as_single",
    "collect",
    "env_rows",
    "play_agents",
    "play_batch",
    "play_episode",
    "play_tokens",
    "read_trajectories",
    "row_of",
    "training_rows",
]

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
