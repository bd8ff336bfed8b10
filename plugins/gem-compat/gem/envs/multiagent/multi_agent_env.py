"""``MultiAgentEnv`` and ``AgentSelector`` of gem-rollout, with gem-llm's name of the method."""

from abc import abstractmethod
from typing import Any

import gem_rollout.multi_agent.env as multi_agent
from gem_core.observation import Action
from gem_rollout.multi_agent.env import AgentSelector

__all__ = ["AgentSelector", "MultiAgentEnv"]


class MultiAgentEnv(multi_agent.MultiAgentEnv):
    """Base of environments for several agents; authors override ``_process_actions``."""

    def process_actions(self, actions: dict[str, Action]) -> Any:
        """Take the actions of all agents that act; see ``_process_actions``."""
        return self._process_actions(actions)

    @abstractmethod
    def _process_actions(self, actions: dict[str, Action]) -> Any:
        """Take the actions; see ``gem_rollout.MultiAgentEnv.process_actions``."""
