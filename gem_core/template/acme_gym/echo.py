"""Echo: repeat a text backwards."""

import string

from gem_core import Action, BaseAgent, BaseEnv, Info, Observation, Step
from gem_core.errors import ConfigError

__all__ = ["EchoEnv", "EchoOracle"]


class EchoEnv(BaseEnv):
    """Repeat a text backwards. One turn; reward 1.0 for the right answer, 0.0 for any other.

    Args:
        length: Letters of the text, 1 to 100.

    Raises:
        ConfigError: ``length`` is out of range.
    """

    def __init__(self, *, length: int = 5) -> None:
        if not 1 <= length <= 100:
            raise ConfigError(f"length must be from 1 to 100; got {length}.")
        self.length = length

    def start(self) -> tuple[Observation, Info]:
        self.text = "".join(self.rng.choices(string.ascii_lowercase, k=self.length))
        return f"Answer with this text, backwards, and nothing else: {self.text}", {}

    def step(self, action: Action) -> Step:
        right = action == self.text[::-1]
        observation = "Right." if right else f"No, it is {self.text[::-1]}."
        return Step(observation, float(right), True, False, {})

    def sample_random_action(self) -> Action:
        return "".join(self.action_rng.choices(string.ascii_lowercase, k=self.length))


class EchoOracle(BaseAgent):
    """Reads the text from the observation and turns it round."""

    def act(self, observation: Observation, info: Info) -> Action:
        return observation.rpartition(" ")[2][::-1]
