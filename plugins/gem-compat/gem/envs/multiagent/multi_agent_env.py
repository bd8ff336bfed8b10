"""``MultiAgentEnv`` and ``AgentSelector``, which are gem-core's."""

from gem_core.multi_agent import AgentSelector, MultiAgentEnv

__all__ = ["AgentSelector", "MultiAgentEnv"]
