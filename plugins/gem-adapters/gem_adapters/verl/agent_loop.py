"""verl's agent loop for environments: one row of the batch is one episode.

verl needs a row for each prompt. An episode that an error ended becomes a row whose response is
fully masked and whose score is 0; the other rows of the batch are unharmed.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from omegaconf import OmegaConf
from verl.experimental.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.workers.rollout.replica import TokenOutput

from gem_adapters.cached import row_envs
from gem_adapters.verl.advantages import GROUPED, PREFIX
from gem_adapters.verl.options import LoopOptions
from gem_core.errors import ConfigError
from gem_rollout import (
    Limits,
    Prompt,
    ReplyError,
    Row,
    RowEnvs,
    Sampled,
    Trajectory,
    play_tokens,
    training_rows,
)
from gem_rollout.tokens.limits import PromptTooLongError

__all__ = ["GemAgentLoop"]

_LOG = logging.getLogger(__name__)
_FIELDS = ("turn_scores", "tool_rewards", "gem_error", "gem_terminated", "gem_truncated")
"""The fields that are added to a row, and that no column may have."""
_COMPOSED = ("env", "envs", "mixture", "tools", "wrappers", "tool_use", "answer_instruction")
_LIMITS = {"prompt_tokens": "prompt_length", "context": "max_model_len"}


class GemAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Plays the environment that a row names.

    ``prompt_length``, ``response_length`` and ``max_model_len`` of the rollout limit the tokens.
    Tools and wrappers are those of ``tools=`` and ``wrappers=`` in verl's configuration, or of
    the option ``config``. The score of a row is the reward of its episode. Added fields are
    ``turn_scores``, ``gem_error`` (what ended the episode early; None without an error),
    ``gem_terminated`` and ``gem_truncated``; validation reports the shares of rows with errors and
    of truncated ones.

    Args:
        options: Fields of ``LoopOptions``, from the YAML.
        **arguments: Those of verl's ``AgentLoopBase``.

    Raises:
        ConfigError: An option is unknown or invalid, or verl would count errors as scores of 0.
    """

    def __init__(self, *, options: Mapping[str, Any] | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._options = LoopOptions.of(_plain(options), _plain(self.config.get("gem")))
        _check_estimator(self.config.get("algorithm") or {})
        rollout = self.rollout_config
        self._limits = Limits(
            prompt_tokens=rollout.prompt_length,
            response_tokens=rollout.response_length,
            turn_tokens=self._options.turn_tokens,
            context=rollout.max_model_len,
        )
        self._logprobs = bool(rollout.calculate_log_probs)
        self._first: list[int] = []
        self._outputs: list[TokenOutput] = []
        self._seconds = 0.0
        self._step: int | None = None

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the episode of a row.

        Args:
            sampling_params: verl's parameters of the sampling.
            **row: The columns of the row.

        Raises:
            ConfigError: The row is invalid, or a column has the name of an added field.
            PromptTooLongError: The first prompt is longer than ``prompt_length``.
        """
        if taken := set(_FIELDS) & set(row):
            raise ConfigError(
                f"The dataset has the column {min(taken)!r}, which GemAgentLoop writes: rename it."
            )
        session = self._envs().session(
            _env_row(row),
            self.tokenizer,
            sample=int(row.get("session_id", 0)),
            limits=self._limits,
            system=self._options.system,
            template=_plain(self.apply_chat_template_kwargs),
            stop=self._options.stop,
            one_sequence=self._options.one_sequence,
            logprobs="required" if self._logprobs else "optional",
            policy=self._options.policy(),
        )
        self._step = row.get("global_steps")
        priority = int(row.get("priority", 0))
        fixed = getattr(self.rollout_config, "full_determinism", False)
        request = f"det-{priority}" if fixed else uuid4().hex

        async def generate(prompt: Prompt) -> Sampled:
            started = time.perf_counter()
            if prompt.turn == 0:
                self._first, self._outputs = prompt.ids, []
            stop = {"stop": list(prompt.stop)} if prompt.stop else {}
            output = await self.server_manager.generate(
                request_id=request,
                prompt_ids=prompt.ids,
                sampling_params={**sampling_params, **stop, "max_tokens": prompt.room},
                priority=priority,
            )
            self._seconds += time.perf_counter() - started
            return self._sampled(output, prompt.room)

        try:
            trajectory = await play_tokens(session, generate)
        except PromptTooLongError as error:
            limit = f"actor_rollout_ref.rollout.{_LIMITS.get(error.limit, error.limit)}"
            raise PromptTooLongError(error.tokens, limit, error.most) from None
        return self._output(trajectory)

    def _envs(self) -> RowEnvs:
        """Return the environments of the configuration, which the rows of a process share."""
        composed = {name: _plain(self.config[name]) for name in _COMPOSED if self.config.get(name)}
        if composed and self._options.config:
            raise ConfigError(
                f"verl's configuration has {', '.join(composed)}, and the options have config: "
                f"choose one of them."
            )
        return row_envs(composed or self._options.config)

    def _sampled(self, output: TokenOutput, room: int | None) -> Sampled:
        if output.stop_reason in {"abort", "aborted"}:
            raise ReplyError("The engine aborted the request before the reply was complete.")
        self._outputs.append(output)
        ids = output.token_ids
        ended = bool(ids) and ids[-1] == self.tokenizer.eos_token_id
        return Sampled(ids, output.log_probs or [], ended or room is None or len(ids) < room)

    def _output(self, trajectory: Trajectory) -> AgentLoopOutput:
        options = self._options
        rows = training_rows(
            trajectory,
            reward=options.reward,
            gamma=options.gamma,
            limits=self._limits,
            one_sequence=options.one_sequence,
            logprobs="required" if self._logprobs else "optional",
        )
        row = rows[0] if rows else self._empty()
        error = trajectory.error
        if error is not None:
            _LOG.warning("%s: %s: %s", trajectory.env_name, error["type"], error["message"])
            row.mask, row.reward = [False] * len(row.mask), 0.0
        what = error and f"{error['boundary']}: {error['type']}: {error['message']}"
        return AgentLoopOutput(
            prompt_ids=row.prompt_ids,
            response_ids=row.response_ids,
            response_mask=[int(sampled) for sampled in row.mask],
            response_logprobs=row.logprobs if self._logprobs else None,
            routed_experts=self._experts(len(row.prompt_ids) + len(row.response_ids)),
            reward_score=row.reward,
            num_turns=2 * len(row.turns),
            metrics=self._metrics(trajectory),
            extra_fields={
                **self._versions(),
                "turn_scores": row.turn_rewards,
                "tool_rewards": [],
                "gem_error": what,
                "gem_terminated": row.terminated,
                "gem_truncated": row.truncated,
                "reward_extra_info": {
                    "gem_error_share": float(error is not None),
                    "gem_truncated_share": float(row.truncated),
                },
            },
        )

    def _empty(self) -> Row:
        """Return the row of an episode without a turn: one token, which is masked."""
        end = self.tokenizer.eos_token_id or 0
        return Row(self._first or [end], [end], [False], [0.0])

    def _experts(self, length: int) -> Any:
        """Return the experts of the tokens, which the last output has for the earlier ones too."""
        experts = self._outputs[-1].routed_experts if self._outputs else None
        return None if experts is None else experts[:length]

    def _versions(self) -> dict[str, Any]:
        """Return the first and the last version of the weights that sampled a reply.

        If none is known, it is the step of the row: verl's V1 trainer needs a number.
        """
        versions = {}
        for name, choose in (("min_global_steps", min), ("max_global_steps", max)):
            known = [output.extra_fields.get(name) for output in self._outputs]
            versions[name] = choose((one for one in known if one is not None), default=self._step)
        return versions

    def _metrics(self, trajectory: Trajectory) -> dict[str, Any]:
        preempted = [one.num_preempted for one in self._outputs if one.num_preempted is not None]
        environment = sum(turn.env_seconds for turn in trajectory.turns)
        return {
            "generate_sequences": self._seconds,
            "tool_calls": environment,
            "num_preempted": sum(preempted) if preempted else -1,
        }


def _check_estimator(algorithm: Mapping[str, Any]) -> None:
    """Refuse an estimator that counts an episode that an error ended as a score of 0."""
    name = algorithm.get("adv_estimator")
    if name in GROUPED:
        raise ConfigError(
            f"verl would count an episode that an error ended as a score of 0 in the mean of its "
            f"group: set algorithm.adv_estimator={PREFIX}{name}."
        )


def _env_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a row that names the environment."""
    extra = row.get("extra_info")
    return extra if isinstance(extra, Mapping) and "env" in extra else row


def _plain(config: Any) -> Any:
    return OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config
