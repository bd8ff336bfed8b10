"""Environments with several agents."""

from gem.envs.multiagent.multi_agent_env import MultiAgentEnv

__all__ = ["MultiAgentEnv"]
