"""Environments in skyrl-gym: SkyRL samples text, and tokenises the conversation itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from gem_adapters.cached import row_envs
from gem_adapters.waited import waited
from gem_core.errors import ConfigError
from gem_core.observation import visible_text
from gem_core.seeding import child_seed
from gem_rollout import row_of
from gem_rollout.episodes.components import options_of_reset

__all__ = ["GemTextEnv", "register"]


def register(name: str = "gem", config: Sequence[str] | None = None) -> None:
    """Register ``GemTextEnv`` in skyrl-gym, under the name in the column ``env_class``.

    Call it in the process that makes the environments. The same call may be repeated.

    Args:
        name: The name.
        config: Overrides that choose tools and wrappers, see ``RowEnvs``.

    Raises:
        ConfigError: The name has other overrides, or is that of another environment.
    """
    kwargs = {"config": None if config is None else list(config)}
    entry_point = "gem_adapters.skyrl.text_env:GemTextEnv"
    known = skyrl_gym.registry.get(name)
    if known is None:
        skyrl_gym.register(id=name, entry_point=entry_point, kwargs=kwargs)
    elif (known.entry_point, known.kwargs) != (entry_point, kwargs):
        raise ConfigError(
            f"skyrl-gym has another environment called {name!r}, {known.entry_point} with "
            f"{known.kwargs}. Choose another name, and write it to the column env_class."
        )


class GemTextEnv(BaseTextEnv):  # type: ignore[misc]
    """Plays the episode of a row, up to SkyRL's ``max_turns``.

    Args:
        env_config: SkyRL's configuration of the environment, which is not used.
        extras: The further columns of the row.
        config: Overrides that choose tools and wrappers, see ``RowEnvs``.

    Raises:
        ConfigError: The row is invalid, or its environment cannot be made.
    """

    def __init__(
        self,
        env_config: Any = None,
        extras: Mapping[str, Any] | None = None,
        config: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._row = row_of(extras or {})
        self._env = row_envs(config).make(self._row)
        self.max_turns: int | None = (extras or {}).get("max_turns")

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin the episode.

        Args:
            prompt: The prompt of the dataset. Its system messages are kept; the rest only names
                the row.

        Returns:
            The conversation so far, and the info of the reset.
        """
        row = self._row
        options = options_of_reset(self._env, row.index, row.seed)
        seed = child_seed(row.seed, row.index)
        observation, info = waited(self._env.reset(seed=seed, **options))
        system = [message for message in prompt if message.get("role") == "system"]
        return [*system, self._message(observation, info)], dict(info)

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take an action."""
        self.turns += 1
        observation, reward, terminated, truncated, info = waited(self._env.step(action))
        is_last = self.max_turns is not None and self.turns >= self.max_turns
        done = terminated or truncated or is_last
        shown = [] if done else [self._message(observation, info)]
        return BaseTextEnvStepOutput(
            observations=shown, reward=float(reward), done=done, metadata=dict(info)
        )

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _message(self, observation: Any, info: Any) -> dict[str, str]:
        if not isinstance(observation, str):
            raise ConfigError("SkyRL's text environments show text, and the observation is not.")
        return {"role": "user", "content": visible_text(observation, info)}
