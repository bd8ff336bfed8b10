"""Environments for the tool loop of TRL, as its ``environment_factory``.

TRL samples, parses tool calls, and calls ``act``. It needs a chat template whose tool calls it can
parse. Where the episode should be played without tool calls, use ``gem_adapters.trl.rollout``::

    trainer = GRPOTrainer(
        model=...,
        train_dataset=Dataset.from_list(rows("game:GuessTheNumber-v0-easy", 1000)),
        environment_factory=Environment,
    )
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gem_adapters.waited import waited
from gem_core.env import Env
from gem_core.errors import EpisodeEndedError
from gem_core.observation import visible_text
from gem_core.seeding import child_seed
from gem_rollout import RowEnvs, env_rows, row_of
from gem_rollout.components import options_of_reset

__all__ = ["Environment", "environment_factory", "rows"]

_INSTRUCTION = "Call the tool `act` with each of your actions until the episode has ended."


def rows(
    env: str, n: int, *, seed: int = 0, env_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a dataset; the environment adds its first observation to the prompt.

    Args:
        env: Id of the environment.
        n: Number of rows.
        seed: Seed of the run.
        env_kwargs: Parameters of the environment.
    """
    prompt = [{"role": "user", "content": _INSTRUCTION}]
    return [
        {"prompt": prompt, **row, "env_kwargs": json.dumps(row["env_kwargs"])}
        for row in env_rows(env, n, seed=seed, env_kwargs=env_kwargs)
    ]


def environment_factory(config: Mapping[str, Any] | Sequence[str] | None = None) -> Any:
    """Return a factory of ``Environment`` that can be pickled.

    Args:
        config: Tools and wrappers; see ``RowEnvs``.
    """
    return partial(Environment, config)


class Environment:
    """One episode. Its return is its reward.

    Args:
        config: Tools and wrappers; see ``RowEnvs``.
    """

    def __init__(self, config: Mapping[str, Any] | Sequence[str] | None = None) -> None:
        self._envs = RowEnvs(config)
        self._env: Env | None = None
        self._return = 0.0
        self._ended = True

    def reset(self, **row: Any) -> str:
        """Begin the episode of a row and return what the agent sees."""
        known = row_of(row)
        if self._env is not None:
            self._env.close()
        self._env, self._return, self._ended = self._envs.make(known), 0.0, False
        options = options_of_reset(self._env, known.index, known.seed)
        first = self._env.reset(seed=child_seed(known.seed, known.index), **options)
        return visible_text(*waited(first))

    def act(self, action: str) -> str:
        """Take an action in the environment.

        Args:
            action: The action, written as the environment asks for it.

        Returns:
            What the environment shows afterwards.
        """
        if self._env is None or self._ended:
            raise EpisodeEndedError("The episode has ended; no action can be taken.")
        observation, reward, terminated, truncated, info = waited(self._env.step(action))
        self._return += reward
        self._ended = terminated or truncated
        text = visible_text(observation, info)
        return f"{text}\nThe episode has ended." if self._ended else text

    def get_reward(self) -> float:
        """Return the sum of the rewards so far."""
        return self._return
