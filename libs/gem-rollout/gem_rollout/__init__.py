"""Rollouts: collect episodes as trajectories, and store them in files."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_rollout.components import Component, Sampler
    from gem_rollout.episode import play_episode
    from gem_rollout.limits import Limits, PromptTooLongError
    from gem_rollout.multi_agent import (
        AgentSelector,
        MultiAgentEnv,
        MultiAgentStep,
        as_single,
        play_agents,
    )
    from gem_rollout.policy import Budget, FaultPolicy
    from gem_rollout.report import EnvReport, Report
    from gem_rollout.rollout import AsyncRollout, Rollout, collect, collect_async
    from gem_rollout.row_envs import EnvRow, RowEnvs, env_rows, row_of
    from gem_rollout.rows import Row, training_rows
    from gem_rollout.sampler import Request, Sampled, SamplingModel
    from gem_rollout.store import EpisodeKey, TrajectoryFile, read_keys, read_trajectories
    from gem_rollout.token_agent import SequenceError, TokenAgent
    from gem_rollout.token_play import play_batch, play_tokens
    from gem_rollout.token_reply import Prompt, ReplyError, ReplyInterruptedError, Turned
    from gem_rollout.token_session import TokenSession
    from gem_rollout.tokens import TokenSequence
    from gem_rollout.trajectory import Trajectory, Turn

_MODULES = {
    "rollout": ("AsyncRollout", "Rollout", "collect", "collect_async"),
    "episode": ("play_episode",),
    "multi_agent": (
        "AgentSelector",
        "MultiAgentEnv",
        "MultiAgentStep",
        "as_single",
        "play_agents",
    ),
    "policy": ("Budget", "FaultPolicy"),
    "report": ("EnvReport", "Report"),
    "components": ("Component", "Sampler"),
    "store": ("EpisodeKey", "TrajectoryFile", "read_keys", "read_trajectories"),
    "row_envs": ("EnvRow", "RowEnvs", "env_rows", "row_of"),
    "limits": ("Limits", "PromptTooLongError"),
    "sampler": ("Request", "Sampled", "SamplingModel"),
    "token_agent": ("SequenceError", "TokenAgent"),
    "token_play": ("play_batch", "play_tokens"),
    "token_reply": ("Prompt", "ReplyError", "ReplyInterruptedError", "Turned"),
    "token_session": ("TokenSession",),
    "tokens": ("TokenSequence",),
    "rows": ("Row", "training_rows"),
    "trajectory": ("Trajectory", "Turn"),
}

__all__ = [
    "AgentSelector",
    "AsyncRollout",
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
    "Turned",
    "as_single",
    "collect",
    "collect_async",
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
