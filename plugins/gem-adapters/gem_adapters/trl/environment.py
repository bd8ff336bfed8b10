"""Environments for the tool loop of TRL, as its ``environment_factory``.

TRL samples, parses tool calls, and calls ``act`` or a tool. It needs a chat template whose tool
calls it can parse. Where the episode should be played without tool calls, use
``gem_adapters.trl.rollout``::

    trainer = GRPOTrainer(
        model=...,
        train_dataset=Dataset.from_list(rows("game:GuessTheNumber-v0-easy", 1000)),
        environment_factory=environment_factory(["tools=[python]"]),
    )
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gem_adapters.trl.tool_methods import DIRECT, DirectCall, functions_of, method_of
from gem_core.background import BackgroundLoop
from gem_core.content import images_of
from gem_core.env import Env
from gem_core.errors import ConfigError, EpisodeEndedError
from gem_core.maybe_async import is_awaitable
from gem_core.observation import visible_text
from gem_core.seeding import child_seed
from gem_rollout import RowEnvs, env_rows, row_of
from gem_rollout.episodes.components import options_of_reset

__all__ = ["Environment", "environment_factory", "rows"]

_INSTRUCTION = "Call the tool `act` with each of your actions until the episode has ended.\n\n"
_FAULT = "The environment failed, and the episode has ended."
_CLASSES: dict[str, type["Environment"]] = {}


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

    Its environments also have a method for each function of the tools in the configuration, unless
    ``tool_use`` has a ``call_format``: the model then writes calls in that format to ``act``.

    Args:
        config: Tools and wrappers; see ``RowEnvs``.

    Raises:
        ConfigError: The configuration cannot be used, or a tool has no functions or the name of
            another method.
    """
    composed = RowEnvs(config).config
    _class_of(composed)
    return partial(_made, composed)


def _made(config: dict[str, Any]) -> "Environment":
    return _class_of(config)(config)


def _class_of(config: dict[str, Any]) -> type["Environment"]:
    """Return the class with the methods of the tools: TRL reads them from the class."""
    if not config.get("tools") or "call_format" in (config.get("tool_use") or {}):
        return Environment
    by_tool = functions_of(config)
    functions = {one.name: one for each in by_tool.values() for one in each}
    taken = [name for name in functions if hasattr(Environment, name) or name.startswith("_")]
    if names := [tool for tool, each in by_tool.items() if not each] + taken:
        raise ConfigError(
            f"These tools cannot be methods of an environment: {', '.join(names)}. They have no "
            f"functions, or the name of another method. Set tool_use.call_format=tags to let the "
            f"model write their calls as text."
        )
    key = repr(sorted(functions.items()))
    if key not in _CLASSES:
        methods = {name: method_of(function) for name, function in functions.items()}
        _CLASSES[key] = type("ToolEnvironment", (Environment,), {**methods, "_calls_by_name": True})
    return _CLASSES[key]


class Environment:
    """One episode. Its return is its reward.

    An exception of the environment ends the episode without a reward, and TRL leaves it out.

    Args:
        config: Tools and wrappers; see ``RowEnvs``.
    """

    _calls_by_name = False

    def __init__(self, config: Mapping[str, Any] | Sequence[str] | None = None) -> None:
        self._envs = RowEnvs(config)
        if self._calls_by_name:
            composed = self._envs.config
            use = {**(composed.get("tool_use") or {}), **DIRECT}
            self._envs = RowEnvs({**composed, "tool_use": use})
        self._background = BackgroundLoop()
        self._env: Env | None = None
        self._return: float | None = 0.0
        self._ended = True

    def reset(self, **row: Any) -> str:
        """Begin the episode of a row and return what the agent sees.

        Raises:
            ConfigError: The row or the configuration cannot be used, or there is an image.
        """
        known = row_of(row)
        if self._env is not None:
            self._env.close()
        env = self._env = self._envs.make(known)
        self._return, self._ended = 0.0, False
        options = options_of_reset(env, known.index, known.seed)
        try:
            seed = child_seed(known.seed, known.index)
            observation, info = self._waited(env.reset(seed=seed, **options))
        except ConfigError:
            raise
        except Exception:  # noqa: BLE001 - a fault of one episode
            return self._failed()
        if images_of(observation):
            raise ConfigError(f"{known.env} shows an image, and an agent is shown text here.")
        return visible_text(observation, info)

    def act(self, action: str) -> str:
        """Take an action in the environment.

        Args:
            action: The action, written as the environment asks for it.

        Returns:
            What the environment shows afterwards.
        """
        return self._step(action)

    def get_reward(self) -> float | None:
        """Return the sum of the rewards so far; None if the environment failed."""
        return self._return

    def _step(self, action: str | DirectCall) -> str:
        if self._env is None or self._ended or self._return is None:
            raise EpisodeEndedError("The episode has ended; no action can be taken.")
        try:
            step = self._waited(self._env.step(action))
        except Exception:  # noqa: BLE001 - a fault of one episode
            return self._failed()
        observation, reward, terminated, truncated, info = step
        self._return += reward
        self._ended = terminated or truncated
        text = visible_text(observation, info)
        return f"{text}\nThe episode has ended." if self._ended else text

    def _waited(self, result: Any) -> Any:
        """Return a result, or that of an awaitable."""

        async def awaited() -> Any:
            return await result

        return self._background.run(awaited()) if is_awaitable(result) else result

    def _failed(self) -> str:
        self._return, self._ended = None, True
        return _FAULT
