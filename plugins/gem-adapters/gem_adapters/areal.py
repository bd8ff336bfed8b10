"""AReaL: a rollout workflow that plays environments, one episode for each row of the dataset.

An episode that an error ended is rejected: AReaL leaves it out of training. The rows are those of
``gem_rollout.tokens.dataset_rows``.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import torch
from areal import workflow_context
from areal.api import ModelRequest, ModelResponse, RolloutWorkflow
from areal.utils import stats_tracker
from areal.utils.hf_utils import load_hf_tokenizer

from gem_adapters.cached import row_envs
from gem_core.errors import ConfigError
from gem_rollout import (
    FaultPolicy,
    Limits,
    Prompt,
    ReplyError,
    Row,
    Sampled,
    play_tokens,
    training_rows,
)

__all__ = ["GemWorkflow"]

_LOG = logging.getLogger(__name__)


class GemWorkflow(RolloutWorkflow):  # type: ignore[misc]
    """Plays the environment that a row of the dataset names.

    Args:
        gconfig: AReaL's ``GenerationHyperparameters``. ``max_new_tokens`` limits each reply, and
            ``max_tokens`` a prompt and its reply together.
        tokenizer: A tokenizer of transformers, or its path.
        config: Overrides that choose tools and wrappers, and name environments:
            ``["tools=[python]"]``.
        reward: How the rewards of the turns become the row's one reward.
        gamma: Discount for each turn under ``discounted``, in [0, 1].
        one_sequence: What to do with an episode whose prompts do not extend each other: raise
            ``SequenceError``, or train on its last sequence.
        system: The system message.
        template: More variables for the chat template.
        prompt_tokens: Most tokens of the first prompt; None for no limit.
        response_tokens: Most tokens after the first prompt; None for no limit.
        policy: What to do with faults, and deadlines; by default, a turn may take 1800 seconds.
            Under ``raise``, AReaL logs the error and rejects the episode as well.

    Raises:
        ConfigError: A parameter is invalid.
    """

    def __init__(
        self,
        gconfig: Any,
        tokenizer: Any,
        *,
        config: Sequence[str] = (),
        reward: Literal["sum", "discounted", "last"] = "sum",
        gamma: float = 1.0,
        one_sequence: Literal["raise", "last"] = "raise",
        system: str | None = None,
        template: Mapping[str, Any] | None = None,
        prompt_tokens: int | None = None,
        response_tokens: int | None = None,
        policy: FaultPolicy | None = None,
    ) -> None:
        for name, value, known in (
            ("reward", reward, ("sum", "discounted", "last")),
            ("one_sequence", one_sequence, ("raise", "last")),
        ):
            if value not in known:
                raise ConfigError(
                    f"{name} must be one of {', '.join(known)}, as an episode is one row with one "
                    f"reward in AReaL; got {value!r}."
                )
        if not 0 <= gamma <= 1:
            raise ConfigError(f"gamma must be in [0, 1]; got {gamma!r}.")
        self._tokenizer = _tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
        self._gconfig = gconfig.new_with_stop_and_pad_token_ids(self._tokenizer)
        self._envs = row_envs(config)
        self._limits = Limits(
            prompt_tokens=prompt_tokens,
            response_tokens=response_tokens,
            turn_tokens=gconfig.max_new_tokens,
            context=gconfig.max_tokens,
        )
        self._rows: dict[str, Any] = {"reward": reward, "gamma": gamma, "limits": self._limits}
        self._session: dict[str, Any] = {
            "limits": self._limits,
            "system": system,
            "template": template,
            "stop": tuple(gconfig.stop or ()),
            "policy": policy or FaultPolicy(turn_deadline=1800.0),
        }
        self._one_sequence = one_sequence

    async def arun_episode(self, engine: Any, data: dict[str, Any]) -> dict[str, Any] | None:
        """Play an episode.

        Args:
            engine: AReaL's inference engine.
            data: The row.

        Returns:
            Tensors with a batch dimension of 1; None if an error ended the episode.

        Raises:
            ConfigError: The row is invalid, or its prompt is too long.
        """
        session = self._envs.session(
            data, self._tokenizer, one_sequence=self._one_sequence, **self._session
        )

        async def generate(prompt: Prompt) -> Sampled:
            gconfig = self._gconfig.new(n_samples=1, max_new_tokens=prompt.room)
            request = ModelRequest(input_ids=prompt.ids, gconfig=gconfig, tokenizer=self._tokenizer)
            response: ModelResponse = await engine.agenerate(request)
            if response.stop_reason == "abort":
                raise ReplyError("The engine aborted the request before the reply was complete.")
            return Sampled(
                response.output_tokens,
                response.output_logprobs,
                is_complete=response.stop_reason != "length",
                versions=response.output_versions,
            )

        trajectory = await play_tokens(session, generate)
        error = trajectory.error
        if error is not None:
            _LOG.warning("%s: %s: %s", trajectory.env_name, error["type"], error["message"])
            return None
        row = training_rows(trajectory, one_sequence=self._one_sequence, **self._rows)[0]
        stats_tracker.get(workflow_context.stat_scope()).scalar(
            reward=row.reward, num_turns=len(trajectory.turns), truncated=float(row.truncated)
        )
        return _tensors(row)


@lru_cache
def _tokenizer(path: str) -> Any:
    """Load a tokenizer; AReaL makes a workflow for each episode if it is given as a class."""
    return load_hf_tokenizer(path)


def _tensors(row: Row) -> dict[str, Any]:
    """Return a row as AReaL's tensors; the version of a token that was not sampled is -1."""
    given = len(row.prompt_ids)
    length = given + len(row.response_ids)
    versions = [-1] * given + [-1 if version is None else version for version in row.versions]
    columns = {
        "input_ids": torch.tensor(row.prompt_ids + row.response_ids, dtype=torch.int32),
        "logprobs": torch.tensor([0.0] * given + row.logprobs, dtype=torch.float32),
        "loss_mask": torch.tensor([False] * given + row.mask, dtype=torch.int32),
        "versions": torch.tensor(versions, dtype=torch.int32),
        "rewards": torch.tensor(row.reward, dtype=torch.float32),
        "attention_mask": torch.ones(length, dtype=torch.bool),
    }
    return {name: column.unsqueeze(0) for name, column in columns.items()}
