"""A small environment with an oracle, in which the kit plays agents, wrappers and executors."""

from gem_core.agent import BaseAgent
from gem_core.env import BaseEnv, Env, Step
from gem_core.observation import Action, Info, Observation
from gem_core.specs import EnvSpec

__all__ = ["ExampleEnv", "ExampleOracle", "example_spec"]

_WORDS = ("stone", "river", "cloud", "ember")


class ExampleEnv(BaseEnv):
    """Repeat a word, three times."""

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return self._ask(), {"suffix": "Answer with the word."}

    def _ask(self) -> str:
        self.word = self.rng.choice(_WORDS)
        return f"Say {self.word}."

    def step(self, action: Action) -> Step:
        reward = float(action == self.word)
        self.turn += 1
        return Step(self._ask(), reward, self.turn == 3, False, {})

    def sample_random_action(self) -> Action:
        return self.action_rng.choice(_WORDS)


class ExampleOracle(BaseAgent):
    """Says the word that the environment asks for."""

    def reset(self, env: Env) -> None:
        """Get ready for an episode."""

    def act(self, observation: Observation, info: Info) -> Action:
        return str(observation).rpartition(" ")[2].rstrip(".")


def example_spec() -> EnvSpec:
    """Return the spec of the environment."""
    return EnvSpec(
        id="example:Words", entry_point=ExampleEnv, oracle=ExampleOracle, return_range=(0.0, 3.0)
    )
