"""A round of agents that all talk to all."""

import time
from typing import Any

from gem_core import Observation
from gem_rollout import MultiAgentEnv

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (8, 32, 128)
UNIT = "ms of CPU"
TITLE = "a round of n agents, each of which says something to all others"
GROWTH = 1.5  # each of n agents is shown n - 1 messages
_REPEATS = 20


class _Assembly(MultiAgentEnv):
    """All speak at the same time, and hear the last message of the round before."""

    def __init__(self, agents: int) -> None:
        self.possible_agents = tuple(f"agent {number}" for number in range(agents))
        super().__init__()

    def start(self) -> None:
        """Begin with nothing said."""

    def observe(self, agent: str) -> Observation:
        heard = self.messages_to(agent)
        return str(heard[-1]["message"]) if heard else ""

    def process_actions(self, actions: dict[str, Any]) -> Any:
        for agent, text in actions.items():
            self.broadcast_message(agent, text)
        return {}, {}, {}, {}, {}


def measure(size: int) -> float:
    """Return the milliseconds of CPU of the first round of ``size`` agents; the least of a few."""
    env = _Assembly(size)
    actions = dict.fromkeys(env.possible_agents, "I agree.")
    return min(_seconds(env, actions) for _ in range(_REPEATS)) * 1000


def _seconds(env: MultiAgentEnv, actions: dict[str, str]) -> float:
    env.reset(seed=0)
    started = time.process_time()
    env.step(actions)
    return time.process_time() - started
