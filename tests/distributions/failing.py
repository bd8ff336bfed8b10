"""Environments and an agent that fail in different ways."""

import time

from gem_core import AgentSpec, BaseAgent, BaseEnv, EnvSpec, Step, hookimpl
from gem_core.registry import Registry

__all__ = ["Failing", "FailingAgent", "gem_register"]


class Failing(BaseEnv):
    """An environment of one step that fails where it is asked to."""

    def __init__(self, *, where: str = "") -> None:
        self.where = where
        self._fail("make")

    def _fail(self, place: str) -> None:
        if self.where == place:
            raise RuntimeError(f"It fails at {place}.")

    def start(self):
        self._fail("reset")
        return "Say something.", {}

    def step(self, action):
        self._fail("step")
        if self.where == "sleep":
            time.sleep(1)
        return Step("Well said.", 1.0, True, False, {"correct": True})

    def sample_random_action(self):
        return "something"


class FailingAgent(BaseAgent):
    """An agent that never acts."""

    def act(self, observation, info):
        raise ValueError("The agent fails.")


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the environments and the agent."""
    for where in ("make", "reset", "step", "sleep", ""):
        registry.add(
            EnvSpec(id=f"fail:{where or 'never'}", entry_point=Failing, kwargs={"where": where})
        )
    registry.add(AgentSpec(id="failing", entry_point=FailingAgent))
