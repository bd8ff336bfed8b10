"""Environments for several agents: the base class, episodes, and the view of one agent."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_rollout.multi_agent.agent_view import as_single
    from gem_rollout.multi_agent.env import AgentSelector, MultiAgentEnv, MultiAgentStep
    from gem_rollout.multi_agent.play import play_agents

__all__ = ["AgentSelector", "MultiAgentEnv", "MultiAgentStep", "as_single", "play_agents"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "agent_view": ("as_single",),
        "env": ("AgentSelector", "MultiAgentEnv", "MultiAgentStep"),
        "play": ("play_agents",),
    },
)
