"""Environments of a single turn as a reward function of TRL: mathematics, programs, questions.

TRL samples as it does for any dataset, and the environment grades each completion::

    trainer = GRPOTrainer(
        model=...,
        train_dataset=Dataset.from_list(questions("math:GSM8K", 1000)),
        reward_funcs=environment_reward(),
    )
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem_adapters.waited import waited
from gem_core.agent import ScriptedAgent
from gem_core.background import BackgroundLoop
from gem_core.errors import ConfigError
from gem_core.observation import visible_text
from gem_core.seeding import child_seed
from gem_rollout import FaultPolicy, RowEnvs, env_rows, row_of
from gem_rollout.episodes.components import options_of_reset

__all__ = ["environment_reward", "questions"]

_COLUMNS = "env", "seed", "index", "env_kwargs"


def questions(
    env: str,
    n: int,
    *,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a dataset: ``prompt`` with the question, and the columns of the row.

    Args:
        env: Id of the environment.
        n: Number of rows.
        seed: Seed of the run.
        env_kwargs: Parameters of the environment.
        config: Wrappers for the question, such as ``["answer_instruction=default"]``.

    Raises:
        ConfigError: An argument is invalid.
        UnknownIdError: There is no such environment.
    """
    envs, found = RowEnvs(config), []
    for row in env_rows(env, n, seed=seed, env_kwargs=env_kwargs):
        made = envs.make(row)
        index = row["index"]
        options = options_of_reset(made, index, row["seed"])
        first = waited(made.reset(seed=child_seed(row["seed"], index), **options))
        text = visible_text(*first)
        made.close()
        prompt = [{"role": "user", "content": text}]
        found.append({"prompt": prompt, **row, "env_kwargs": json.dumps(row["env_kwargs"])})
    return found


def environment_reward(
    config: Mapping[str, Any] | Sequence[str] | None = None, *, policy: FaultPolicy | None = None
) -> Callable[..., list[float | None]]:
    """Return a reward function that steps the environment of each row with the completion.

    A fault of the environment gives no reward, and TRL leaves the completion out.

    Args:
        config: Wrappers; the same as for ``questions``.
        policy: Deadlines.

    Raises:
        ConfigError: An argument is invalid. The function raises it if a row is invalid, or its
            environment does not end with the first action.
    """
    envs, background = RowEnvs(config), BackgroundLoop()

    async def graded(row: dict[str, Any], text: str) -> float | None:
        trajectory = await envs.play(row, _OneAction(text), policy=policy)
        if trajectory.error is not None and trajectory.error["type"] == _SeveralTurnsError.__name__:
            raise ConfigError(trajectory.error["message"])
        return None if trajectory.error is not None else trajectory.episode_return

    async def graded_all(rows: list[dict[str, Any]], texts: list[str]) -> list[float | None]:
        return await asyncio.gather(*map(graded, rows, texts))

    def environment_return(completions: list[Any], **columns: Any) -> list[float | None]:
        lists = {name: columns[name] for name in _COLUMNS if name in columns}
        rows = [
            {name: values[number] for name, values in lists.items()}
            for number in range(len(completions))
        ]
        for row in rows:
            row_of(row)
        return background.run(graded_all(rows, [_text(one) for one in completions]))

    return environment_return


class _SeveralTurnsError(ConfigError):
    """The environment asks for a second action."""


class _OneAction(ScriptedAgent):
    """Plays one action."""

    def __init__(self, text: str) -> None:
        super().__init__([text])

    def act(self, observation: Any, info: Any) -> Any:
        if self._turn:
            raise _SeveralTurnsError(
                "The environment did not end with the first action, so a completion cannot be "
                "graded. Use gem_adapters.trl.rollout for episodes of several turns."
            )
        return super().act(observation, info)


def _text(completion: Any) -> str:
    """Return the text of a completion, which is a string or a list of messages."""
    if isinstance(completion, str):
        return completion
    return "".join(str(message.get("content") or "") for message in completion)
