"""``MultiAgentEnv`` and ``AgentSelector``, which are gem-core's."""

from gem_rollout.multi_agent.env import AgentSelector, MultiAgentEnv

__all__ = ["AgentSelector", "MultiAgentEnv"]
