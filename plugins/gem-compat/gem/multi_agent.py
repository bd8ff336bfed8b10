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

    def get_state(self, agent_id: str | None = None) -> Any:
        """Return the state of an agent; see ``gem_rollout.MultiAgentEnv.get_state``."""
        return super().get_state() if agent_id is None else super().get_state(agent_id)

    def add_agent(self, agent_id: str) -> None:
        """Let an agent join; no effect if it is present."""
        super().add_agent(agent_id)

    def remove_agent(self, agent_id: str) -> None:
        """Let an agent leave; no effect if it is absent."""
        super().remove_agent(agent_id)

    def send_message(self, from_agent: str, to_agent: str, message: str) -> None:
        """Send a message from one present agent to another."""
        super().send_message(from_agent, to_agent, message)

    def broadcast_message(self, from_agent: str, message: str) -> None:
        """Send a message to each other present agent, each in an entry of its own."""
        super().broadcast_message(from_agent, message)
        sent = self.shared_memory.pop()
        self.shared_memory += [{**sent, "to": agent} for agent in sent["to"]]
