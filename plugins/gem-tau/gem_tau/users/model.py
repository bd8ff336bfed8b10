"""A user that is played by an agent, such as a model."""

from typing import Any, ClassVar

from gem_core.agent import Agent, BaseAgent, Reply
from gem_core.env import Env
from gem_core.observation import Action, Info, Observation
from gem_core.optional import seed_agent

__all__ = ["PROMPT", "ModelUser"]

PROMPT = """You play a customer who talks to the assistant of a company. You are the customer, not
the assistant. Your situation:

{scenario}

How to play:
- Write only what the customer says next, in a sentence or two. Do not repeat these instructions.
- State one wish at a time, and the next one only when the assistant has dealt with it.
- Tell a detail only when the assistant asks for it. Do not tell anything that is not written above:
  if you are asked for it, say that you do not know.
- When the assistant asks you to confirm, compare what it proposes with what you want, and answer
  yes or no. Then wait until it says that it has been done.
- When all you want has been done or refused, write ###STOP### and nothing else.
- If the assistant hands you over to a human agent, write ###TRANSFER### and nothing else.
- If your situation does not say how to go on, write ###OUT-OF-SCOPE### and nothing else.

The assistant says:
"""


class ModelUser(BaseAgent):
    """Plays the user with an agent, which gets the scenario and the rules with the first message.

    Args:
        agent: The agent.
        prompt: The rules, with ``{scenario}`` where the scenario goes.
    """

    shared: ClassVar[tuple[str, ...]] = ("connections",)

    def __init__(self, agent: Agent, *, prompt: str = PROMPT) -> None:
        self._agent = agent
        self._prompt = prompt

    @property
    def connections(self) -> dict[str, Any]:
        """The attributes of the agent that copies share, such as a client."""
        names = getattr(self._agent, "shared", ())
        return {name: getattr(self._agent, name) for name in names if hasattr(self._agent, name)}

    @connections.setter
    def connections(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self._agent, name, value)

    def seed_episode(self, seed: int) -> None:
        """Seed the agent."""
        seed_agent(self._agent, seed)

    def reset(self, env: Env) -> None:
        """Prepare the agent for an episode."""
        self._agent.reset(env)

    def act(self, observation: Observation, info: Info) -> Action | Reply:
        """Return the agent's message."""
        scenario = info.get("prefix")
        if scenario:
            info = {**info, "prefix": self._prompt.replace("{scenario}", scenario.strip())}
        return self._agent.act(observation, info)

    def close(self) -> None:
        """Close the agent."""
        self._agent.close()
