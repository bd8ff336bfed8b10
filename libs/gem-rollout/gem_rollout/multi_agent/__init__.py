"""Environments for several agents: the base class, episodes, and the view of one agent."""

from gem_rollout.multi_agent.agent_view import as_single
from gem_rollout.multi_agent.env import AgentSelector, MultiAgentEnv, MultiAgentStep
from gem_rollout.multi_agent.play import play_agents

__all__ = ["AgentSelector", "MultiAgentEnv", "MultiAgentStep", "as_single", "play_agents"]
