"""OpenRLHF: an executor of agents that plays a row's episode.

OpenRLHF imports the file of ``--train.agent_func_path`` and makes its class ``AgentExecutor``
without arguments. A row rides in the label: ``--data.input_key input --data.label_key label``.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal

from openrlhf.utils.agent import AgentExecutorBase

from gem_core.errors import ConfigError, GemError
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    ReplyError,
    RowEnvs,
    Sampled,
    Trajectory,
    play_tokens,
    row_of,
    training_rows,
)
from gem_rollout.records.rows import Row
from gem_rollout.tokens.agent import OneSequence

__all__ = ["AgentExecutor", "EpisodeFailedError"]


class EpisodeFailedError(GemError, RuntimeError):
    """An episode failed in each attempt."""


class AgentExecutor(AgentExecutorBase):  # type: ignore[misc]  # OpenRLHF is not imported here
    """Plays the episode of a label; give a subclass without arguments to OpenRLHF.

    Args:
        config: What environments are composed of; see ``RowEnvs``.
        reward: How the rewards of the turns become the reward of the episode; see
            ``training_rows``.
        gamma: Discount for each turn, in [0, 1].
        limits: Limits beside OpenRLHF's ``max_len`` (``context``) and ``max_new_tokens``
            (``turn_tokens``).
        one_sequence: ``raise``, or ``last`` to train on the last sequence of an episode of several.
        policy: Under ``retry``, the default, a failed episode is played again, and raises
            ``EpisodeFailedError`` in the end. Under ``record`` its tokens are masked, and its
            reward is 0. Under ``raise`` its error is raised.
        **options: Further arguments of ``TokenSession``.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, Any] | Sequence[str] | None = None,
        reward: Literal["sum", "discounted", "last"] = "sum",
        gamma: float = 1.0,
        limits: Limits | None = None,
        one_sequence: OneSequence = "raise",
        policy: FaultPolicy | None = None,
        **options: Any,
    ) -> None:
        if reward not in {"sum", "discounted", "last"} or not 0 <= gamma <= 1:
            raise ConfigError(
                f"reward must be sum, discounted or last, and gamma in [0, 1]; got {reward!r} and "
                f"{gamma!r}."
            )
        if one_sequence not in {"raise", "last"}:
            raise ConfigError(
                f"one_sequence must be raise or last, as OpenRLHF takes one sequence of an "
                f"episode; got {one_sequence!r}."
            )
        self._envs = RowEnvs(config)
        self._reward, self._gamma = reward, gamma
        self._limits = limits or Limits()
        self._one_sequence = one_sequence
        self._policy = policy or FaultPolicy(on_error="retry")
        self._options = options
        self._samples: Counter[str] = Counter()

    async def execute(
        self,
        prompt: str,
        label: str,
        sampling_params: Any,
        max_length: int,
        hf_tokenizer: Any,
        llm_engine: Any,
        images: Any = None,
    ) -> dict[str, Any]:
        """Return the tokens and the reward of the episode that the label describes.

        Raises:
            ConfigError: The episode cannot be played.
            EpisodeFailedError: It failed in each attempt.
        """
        row = row_of(_label(label, images))
        sample = self._samples[label]
        self._samples[label] += 1
        needs_logprobs = sampling_params.logprobs is not None
        limits = _limits(self._limits, max_length, sampling_params.max_tokens)
        session = self._envs.session(
            row,
            hf_tokenizer,
            sample=sample,
            limits=limits,
            one_sequence=self._one_sequence,
            policy=self._policy,
            logprobs="required" if needs_logprobs else "optional",
            **self._options,
        )
        first: list[int] = []

        async def generate(asked: Prompt) -> Sampled:
            first[:] = first or asked.ids
            return await _generate(llm_engine, sampling_params, asked)

        trajectory = await play_tokens(session, generate)
        if trajectory.error is not None and self._policy.on_error != "record":
            raise EpisodeFailedError(_failure(trajectory))
        rows = training_rows(
            trajectory,
            reward=self._reward,
            gamma=self._gamma,
            limits=limits,
            one_sequence=self._one_sequence,
            logprobs="required" if needs_logprobs else "optional",
        )
        end = hf_tokenizer.eos_token_id or 0
        played = rows[0] if rows else Row(first or [end, end], [], [], [])
        if trajectory.error is not None:
            played.spans, played.reward = [], 0.0
        return {
            "prompt": prompt,
            "label": label,
            "images": images,
            **_tokens(played, needs_logprobs=needs_logprobs),
            "reward": played.reward,
            "scores": played.reward,
            "truncated": played.truncated,
            "extra_logs": {
                "turns": float(len(trajectory.turns)),
                "failed": float(trajectory.error is not None),
            },
        }


def _label(label: Any, images: Any) -> Mapping[str, Any]:
    if images:
        raise ConfigError("The dataset has images; episodes show text only. Remove the column.")
    try:
        found = json.loads(label) if isinstance(label, str) else label
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"The label must be a row as JSON; got {label!r}. Make the dataset with "
            f"gem_adapters.rows, and set --data.label_key label."
        )
    return found


def _limits(limits: Limits, context: int, turn: int | None) -> Limits:
    """Return limits that also heed those of OpenRLHF."""
    return Limits(
        prompt_tokens=limits.prompt_tokens,
        response_tokens=limits.response_tokens,
        turn_tokens=min((most for most in (limits.turn_tokens, turn) if most), default=None),
        context=min(limits.context or context, context),
    )


async def _generate(engine: Any, sampling_params: Any, prompt: Prompt) -> Sampled:
    """Sample a reply with OpenRLHF's engine.

    Raises:
        ReplyError: The engine returned none.
    """
    params = deepcopy(sampling_params)
    params.max_tokens = prompt.room
    if prompt.stop:
        params.stop, params.include_stop_str_in_output = list(prompt.stop), True
    output = await engine.generate(prompt.ids, params, multi_modal_data=None)
    if output is None or not output.outputs:
        raise ReplyError(f"The engine returned no reply to turn {prompt.turn + 1}.")
    reply = output.outputs[0]
    if reply.finish_reason not in {"stop", "length"}:
        raise ReplyError(
            f"The reply of turn {prompt.turn + 1} ended with finish_reason "
            f"{reply.finish_reason!r} instead of stop or length."
        )
    ids = list(reply.token_ids)
    known = [found.get(token) for token, found in zip(ids, reply.logprobs or [], strict=False)]
    logprobs = [one.logprob for one in known if one is not None]
    return Sampled(ids, logprobs, reply.finish_reason == "stop")


def _tokens(row: Row, *, needs_logprobs: bool) -> dict[str, Any]:
    """Return the tokens of a row in the fields of OpenRLHF."""
    row.check_whole_replies()
    first = len(row.prompt_ids)
    return {
        "mm_train_inputs": None,
        "observation_tokens": row.prompt_ids + row.response_ids,
        "action_ranges": [(first + start, first + end) for start, end in row.spans],
        "rollout_log_probs": [0.0] * first + row.logprobs if needs_logprobs else None,
    }


def _failure(trajectory: Trajectory) -> str:
    error = trajectory.error or {}
    return (
        f"Episode {trajectory.index} of {trajectory.env_name} failed in {trajectory.attempts} "
        f"attempts; the last error is {error.get('type')}: {error.get('message')}"
    )
