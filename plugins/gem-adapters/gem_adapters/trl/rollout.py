"""Multi-turn episodes for TRL's ``GRPOTrainer``, as its ``rollout_func``.

::

    trainer = GRPOTrainer(
        model=...,
        args=GRPOConfig(...),
        train_dataset=Dataset.from_list(prompts("game:GuessTheNumber-v0-easy", 1000)),
        rollout_func=rollout(),
        reward_funcs=episode_rewards,
    )

TRL passes prompts to the function and nothing else, so a prompt is a message whose text is a row.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gem_adapters.rows import rows
from gem_adapters.trl.sampling import finish, sample
from gem_core.background import BackgroundLoop
from gem_core.errors import ConfigError
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    RowEnvs,
    Sampled,
    Trajectory,
    play_batch,
    training_rows,
)
from gem_rollout.records.rows import Reward, Row

__all__ = ["episode_rewards", "prompts", "rollout"]

Output = dict[str, list[Any]]


def prompts(
    env: str, n: int, *, seed: int = 0, env_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a dataset, each with the column ``prompt``.

    Args:
        env: Id of the environment, or its name in the configuration of ``rollout``.
        n: Number of rows.
        seed: Seed of the run.
        env_kwargs: Parameters of the environment.

    Raises:
        ConfigError: ``n`` or ``seed`` is invalid.
        UnknownIdError: There is no such environment.
    """
    return rows(env, n, seed=seed, env_kwargs=env_kwargs, layout="trl")


def episode_rewards(*, episode_reward: Sequence[float | None], **_: Any) -> list[float | None]:
    """Return the rewards that ``rollout`` found; for ``reward_funcs``."""
    return list(episode_reward)


def rollout(
    config: Mapping[str, Any] | Sequence[str] | None = None,
    *,
    limits: Limits | None = None,
    system: str | None = None,
    template: Mapping[str, Any] | None = None,
    reward: Reward = "sum",
    gamma: float = 1.0,
    policy: FaultPolicy | None = None,
    engine: Callable[[Any, list[Prompt]], Sequence[Sampled | BaseException]] | None = None,
) -> Callable[[list[Any], Any], Output]:
    """Return a ``rollout_func``.

    An episode has at most ``max_completion_length`` tokens after its first prompt, and no more than
    the model's context. One that ends with a fault is masked: TRL gets its tokens with an
    ``env_mask`` of zeros and no reward, so that it counts neither in the loss nor in the mean of
    its group.

    Args:
        config: Tools and wrappers for all rows; see ``RowEnvs``.
        limits: Further limits, such as those of a prompt and of one reply.
        system: The system message.
        template: More variables for the chat template.
        reward: How the rewards of the turns become one: ``sum``, ``discounted`` or ``last``.
        gamma: Discount per turn.
        policy: Retries and deadlines.
        engine: Samples a reply to each prompt, given the trainer; None for ``sample``.

    Raises:
        ConfigError: An argument is invalid.
    """
    given, engine = limits or Limits(), engine or sample
    envs, background = RowEnvs(config), BackgroundLoop()
    training_rows(Trajectory("", "", 0, 0), reward=reward, gamma=gamma)

    def rollout_func(batch: list[Any], trainer: Any) -> Output:
        served = trainer.args.vllm_max_model_length if trainer.use_vllm else None
        model = getattr(trainer.model.config, "max_position_embeddings", None)
        limits = replace(
            given,
            response_tokens=_least(given.response_tokens, trainer.max_completion_length),
            context=_least(given.context, model, served),
        )
        sessions, seen = [], Counter[str]()
        for prompt in batch:
            text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
            session = envs.session(
                _row(text),
                trainer.processing_class,
                sample=seen[text],
                limits=limits,
                system=system,
                template=template,
                policy=policy,
            )
            seen[text] += 1
            sessions.append(session)
        played = background.run(play_batch(sessions, lambda asked: engine(trainer, asked)))
        if engine is sample:
            finish(trainer)
        return _output(played, trainer, reward, gamma)

    return rollout_func


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _row(text: Any) -> Mapping[str, Any]:
    try:
        row = json.loads(text)
    except (TypeError, ValueError):
        row = None
    if not isinstance(row, dict):
        raise ConfigError(
            f"A prompt must be the JSON of a row; got {text!r:.80}. Make the dataset with "
            f"gem_adapters.trl.rollout.prompts(env, n)."
        )
    return row


def _output(played: list[Trajectory], trainer: Any, reward: Reward, gamma: float) -> Output:
    names = "prompt_ids", "completion_ids", "logprobs", "env_mask", "episode_reward", "turns"
    output: Output = {name: [] for name in names}
    for trajectory in played:
        (row,) = training_rows(trajectory, reward=reward, gamma=gamma) or [_empty(trainer)]
        failed = trajectory.error is not None
        output["prompt_ids"].append(row.prompt_ids)
        output["completion_ids"].append(row.response_ids)
        output["logprobs"].append(row.logprobs)
        output["env_mask"].append([int(was and not failed) for was in row.mask])
        output["episode_reward"].append(None if failed else row.reward)
        output["turns"].append(len(trajectory.turns))
    if all(value is None for value in output["episode_reward"]):
        errors = Counter(str((one.error or {}).get("message")) for one in played)
        raise RuntimeError(
            f"All {len(played)} episodes of a batch failed. The most frequent error: "
            f"{errors.most_common(1)[0][0]}"
        )
    return output


def _empty(trainer: Any) -> Row:
    """Return a row for an episode that failed before its first reply: TRL needs a token."""
    pad = trainer.processing_class.pad_token_id
    return Row([pad], [pad], [False], [0.0])
