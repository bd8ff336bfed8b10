"""A wrapper that truncates long episodes."""

from typing import Any

from gem_core.env import Env, Step, Wrapper
from gem_core.errors import ConfigError, EpisodeEndedError
from gem_core.observation import Action, Info, Observation

__all__ = ["TimeLimit"]


class TimeLimit(Wrapper):
    """Truncates an episode at its ``max_steps``-th step; Gymnasium's ``max_episode_steps``.

    Outside of the tool wrapper tool calls count as steps; inside of it only the environment's own
    steps do.

    Args:
        env: The environment.
        max_steps: A positive number of steps.

    Raises:
        ConfigError: ``max_steps`` is not positive.
    """

    def __init__(self, env: Env, *, max_steps: int) -> None:
        super().__init__(env)
        if max_steps < 1:
            raise ConfigError(f"max_steps must be at least 1; got {max_steps}.")
        self.max_steps = max_steps
        self.elapsed_steps = 0

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        self.elapsed_steps = 0
        return observation, info

    def step(self, action: Action) -> Any:
        if self.elapsed_steps >= self.max_steps:
            raise EpisodeEndedError(
                f"TimeLimit.step: the episode was truncated after {self.max_steps} steps. "
                f"Call reset() first."
            )
        return super().step(action)

    def after_step(self, action: Action, step: Step) -> Step:
        self.elapsed_steps += 1
        if self.elapsed_steps >= self.max_steps and not step.terminated:
            return step._replace(truncated=True)
        return step
