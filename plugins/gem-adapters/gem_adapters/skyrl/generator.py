"""A generator for SkyRL's trainer: token sessions with SkyRL's inference engine."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from skyrl.train.generators.base import GeneratorInput, GeneratorInterface, GeneratorOutput

from gem_adapters.cached import row_envs
from gem_core.errors import ConfigError
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    ReplyError,
    Row,
    Sampled,
    Trajectory,
    play_tokens,
    row_of,
    training_rows,
)
from gem_rollout.records.rows import Reward

__all__ = ["GemGenerator"]


class GemGenerator(GeneratorInterface):  # type: ignore[misc]
    """Plays the rows of a batch at the same time.

    SkyRL takes a reward for each token, so rewards stay with their turns by default. An episode
    that an error ended is masked, with the stop reason ``error``.

    Args:
        tokenizer: The tokenizer.
        engine: SkyRL's client of its inference engines.
        config: Tools and wrappers; see ``RowEnvs``.
        limits: Limits of tokens.
        reward: ``tokens`` for the reward of each turn at its last token; or one number for the
            episode, see ``training_rows``.
        gamma: Discount per turn.
        policy: Retries and deadlines.
        **options: Further arguments of ``TokenSession``.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        tokenizer: Any,
        engine: Any,
        *,
        config: Mapping[str, Any] | Sequence[str] | None = None,
        limits: Limits | None = None,
        reward: Reward | Literal["tokens"] = "tokens",
        gamma: float = 1.0,
        policy: FaultPolicy | None = None,
        **options: Any,
    ) -> None:
        if tokenizer.pad_token_id is None:
            raise ConfigError(
                "The tokenizer has no padding token, and SkyRL pads its batches with it. Set "
                "tokenizer.pad_token = tokenizer.eos_token."
            )
        self._tokenizer, self._engine = tokenizer, engine
        self._envs = row_envs(config)
        self._by_token = reward == "tokens"
        self._reward: dict[str, Any] = {
            "reward": "sum" if reward == "tokens" else reward,
            "gamma": gamma,
        }
        training_rows(Trajectory("", "", 0, 0), **self._reward)
        self._session = {"limits": limits, "policy": policy, **options}

    async def generate(self, input_batch: GeneratorInput) -> GeneratorOutput:
        """Play the rows of ``env_extras``, and return a row of tokens for each, in their order.

        Raises:
            ConfigError: A row is invalid, or its environment cannot be played.
        """
        extras = input_batch["env_extras"]
        if not extras:
            raise ConfigError(
                "The batch has no env_extras: the dataset needs the columns env, seed and index. "
                "Make it with gem_adapters.rows.rows(env, n, layout='skyrl')."
            )
        sampling = dict(input_batch.get("sampling_params") or {})
        ids = input_batch.get("trajectory_ids")
        tasks = [
            asyncio.ensure_future(self._play(row, sample, sampling))
            for row, sample in zip(extras, _samples(extras, ids), strict=True)
        ]
        try:
            played = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return self._output(played, ids)

    async def _play(
        self, row: Mapping[str, Any], sample: int, sampling: dict[str, Any]
    ) -> tuple[Trajectory, Row]:
        session = self._envs.session(row, self._tokenizer, sample=sample, **self._session)
        request, first = uuid4().hex, [self._tokenizer.eos_token_id or 0]

        async def generate(prompt: Prompt) -> Sampled:
            if prompt.turn == 0:
                first[:] = prompt.ids
            params = dict(sampling)
            rooms = [one for one in (prompt.room, params.get("max_tokens")) if one is not None]
            if rooms:
                params["max_tokens"] = min(rooms)
            if prompt.stop:
                params["stop"] = list(prompt.stop)
            output = await self._engine.generate(
                {
                    "prompt_token_ids": [prompt.ids],
                    "sampling_params": params,
                    "session_ids": [request],
                }
            )
            if output["stop_reasons"][0] == "abort":
                raise ReplyError("The engine aborted the request before the reply was complete.")
            logprobs = output.get("response_logprobs") or [[]]
            ended = output["stop_reasons"][0] != "length"
            return Sampled(list(output["response_ids"][0]), list(logprobs[0] or []), ended)

        trajectory = await play_tokens(session, generate)
        rows = training_rows(trajectory, **self._reward)
        end = self._tokenizer.eos_token_id or 0
        return trajectory, rows[0] if rows else Row(first, [end], [False], [0.0], 0.0, [0.0])

    def _output(self, played: Sequence[tuple[Trajectory, Row]], ids: Any) -> GeneratorOutput:
        failed = [trajectory.error is not None for trajectory, _ in played]
        rows = [row for _, row in played]
        rewards: list[Any] = [
            ([0.0] * len(row.response_ids) if fault else row.token_rewards)
            if self._by_token
            else (0.0 if fault else row.reward)
            for row, fault in zip(rows, failed, strict=True)
        ]
        return GeneratorOutput(
            prompt_token_ids=[row.prompt_ids for row in rows],
            response_ids=[row.response_ids for row in rows],
            rewards=rewards,
            loss_masks=[
                [int(was and not fault) for was in row.mask]
                for row, fault in zip(rows, failed, strict=True)
            ],
            stop_reasons=[
                "error" if fault else "length" if row.truncated else "stop"
                for row, fault in zip(rows, failed, strict=True)
            ],
            rollout_metrics={
                "generate/turns": sum(len(one.turns) for one, _ in played) / len(played),
                "generate/episode_return": sum(one.episode_return for one, _ in played)
                / len(played),
                "generate/error_share": sum(failed) / len(played),
            },
            rollout_logprobs=[row.logprobs for row in rows],
            trajectory_ids=ids,
            trajectory_generation_times=[one.seconds for one, _ in played],
            rollout_expert_indices=None,
            is_last_step=None,
            env_metrics=[{"error": (one.error or {}).get("message")} for one, _ in played],
            pixel_values=None,
            image_grid_thw=None,
        )


def _samples(extras: Sequence[Mapping[str, Any]], ids: Any) -> list[int]:
    """Return the number of each episode among those of its row."""
    if ids is not None:
        return [int(one.repetition_id) for one in ids]
    seen: Counter[str] = Counter()
    found = []
    for row in extras:
        key = repr(row_of(row))
        found.append(seen[key])
        seen[key] += 1
    return found
