"""Rollouts: collect episodes as trajectories, and store them in files."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_rollout.episodes.components import Component, Sampler
    from gem_rollout.episodes.episode import play_episode
    from gem_rollout.episodes.policy import Budget, FaultPolicy
    from gem_rollout.episodes.report import EnvReport, Report
    from gem_rollout.episodes.rollout import Rollout, collect
    from gem_rollout.multi_agent import (
        AgentSelector,
        MultiAgentEnv,
        MultiAgentStep,
        as_single,
        play_agents,
    )
    from gem_rollout.records.rows import Row, training_rows
    from gem_rollout.records.store import EpisodeKey, TrajectoryFile, read_keys, read_trajectories
    from gem_rollout.records.trajectory import Trajectory, Turn
    from gem_rollout.tokens.agent import SequenceError, TokenAgent
    from gem_rollout.tokens.dataset_rows import EnvRow, RowEnvs, env_rows, row_of
    from gem_rollout.tokens.limits import Limits, PromptTooLongError
    from gem_rollout.tokens.play import play_batch, play_tokens
    from gem_rollout.tokens.reply import Prompt, ReplyError, ReplyInterruptedError, TurnResult
    from gem_rollout.tokens.sampler import Request, Sampled, SamplingModel
    from gem_rollout.tokens.sequences import TokenSequence
    from gem_rollout.tokens.session import TokenSession

_MODULES = {
    "episodes.rollout": ("Rollout", "collect"),
    "episodes.episode": ("play_episode",),
    "multi_agent": (
        "AgentSelector",
        "MultiAgentEnv",
        "MultiAgentStep",
        "as_single",
        "play_agents",
    ),
    "episodes.policy": ("Budget", "FaultPolicy"),
    "episodes.report": ("EnvReport", "Report"),
    "episodes.components": ("Component", "Sampler"),
    "records.store": ("EpisodeKey", "TrajectoryFile", "read_keys", "read_trajectories"),
    "tokens.dataset_rows": ("EnvRow", "RowEnvs", "env_rows", "row_of"),
    "tokens.limits": ("Limits", "PromptTooLongError"),
    "tokens.sampler": ("Request", "Sampled", "SamplingModel"),
    "tokens.agent": ("SequenceError", "TokenAgent"),
    "tokens.play": ("play_batch", "play_tokens"),
    "tokens.reply": ("Prompt", "ReplyError", "ReplyInterruptedError", "TurnResult"),
    "tokens.session": ("TokenSession",),
    "tokens.sequences": ("TokenSequence",),
    "records.rows": ("Row", "training_rows"),
    "records.trajectory": ("Trajectory", "Turn"),
}

__all__ = [
    "AgentSelector",
    "Budget",
    "Component",
    "EnvReport",
    "EnvRow",
    "EpisodeKey",
    "FaultPolicy",
    "Limits",
    "MultiAgentEnv",
    "MultiAgentStep",
    "Prompt",
    "PromptTooLongError",
    "ReplyError",
    "ReplyInterruptedError",
    "Report",
    "Request",
    "Rollout",
    "Row",
    "RowEnvs",
    "Sampled",
    "Sampler",
    "SamplingModel",
    "SequenceError",
    "TokenAgent",
    "TokenSequence",
    "TokenSession",
    "Trajectory",
    "TrajectoryFile",
    "Turn",
    "TurnResult",
    "as_single",
    "collect",
    "env_rows",
    "play_agents",
    "play_batch",
    "play_episode",
    "play_tokens",
    "read_keys",
    "read_trajectories",
    "row_of",
    "training_rows",
]

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
