"""RL2: a function that plays the episode of a row, also in parts.

RL2 calls the function ``generate`` of the file ``rollout.env_path``. With ``partial_rollout``, the
server may abort a reply; RL2 calls it again later with the same sample, and the episode goes on.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from omegaconf import OmegaConf
from RL2.datasets import Sample
from RL2.utils.communication import async_request

from gem_adapters.cached import row_envs
from gem_adapters.sglang import InterruptedEpisodes, Piece, Resumable, stop_strings, with_turn_limit
from gem_core.errors import ConfigError
from gem_rollout import FaultPolicy, Limits, ReplyError, Row, Trajectory, training_rows
from gem_rollout.tokens.reply import ReplyInterruptedError

__all__ = ["Generate", "generate"]

_LOG = logging.getLogger(__name__)


class Generate:
    """Plays the environment that RL2's sample names.

    ``sampling_params.max_new_tokens`` limits each reply. A turn's reward is that of its last
    sampled token. Added metrics are ``failed`` and ``truncated``.

    Args:
        config: What environments are composed of, such as ``["tools=[python]"]``; see ``RowEnvs``.
        limits: Further limits.
        one_sequence: What to do with an episode whose prompts do not extend each other: raise
            ``SequenceError``, or train on several sequences.
        policy: What to do with faults, and deadlines. An episode that an error ended is masked.
        **options: Further arguments of ``TokenSession``.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        *,
        config: Mapping[str, Any] | Sequence[str] | None = None,
        limits: Limits | None = None,
        one_sequence: Literal["raise", "split"] = "raise",
        policy: FaultPolicy | None = None,
        **options: Any,
    ) -> None:
        if one_sequence not in {"raise", "split"}:
            raise ConfigError(
                f"one_sequence must be raise or split, as RL2 takes the rewards of all turns; got "
                f"{one_sequence!r}."
            )
        self._envs = row_envs(config)
        self._limits = limits or Limits()
        self._one_sequence = one_sequence
        self._policy = policy
        self._options = options
        self._waiting = InterruptedEpisodes()

    async def __call__(self, config: Any, tokenizer: Any, router_url: str, sample: Sample) -> None:
        """Play an episode, or the rest of one whose reply was aborted.

        Args:
            config: RL2's ``rollout.train`` or ``rollout.test``.
            tokenizer: The tokenizer.
            router_url: URL of SGLang's router.
            sample: RL2's sample, which is filled in.

        Raises:
            ConfigError: The episode cannot be played.
        """
        if sample.status is Sample.Status.DONE:
            return
        params: Any = OmegaConf.to_container(config.sampling_params, resolve=True)
        limits = with_turn_limit(self._limits, params.get("max_new_tokens"))
        episode = self._waiting.take(sample) or Resumable(
            self._envs.session(
                sample.sample,
                tokenizer,
                limits=limits,
                one_sequence=self._one_sequence,
                policy=self._policy,
                **{"stop": stop_strings(params.get("stop")), **self._options},
            )
        )

        async def ask(body: dict[str, Any]) -> Piece:
            piece = Piece.of(await async_request(router_url, "generate", json=body))
            if piece.finish == "abort" and not config.get("partial_rollout"):
                raise ReplyError("The engine aborted the request, and partial_rollout is false.")
            return piece

        sample.status = Sample.Status.RUNNING
        try:
            trajectory = await episode.play(ask, params)
        except ReplyInterruptedError:
            sample.status = Sample.Status.ABORTED
            self._waiting.put(sample, episode)
        else:
            rows = training_rows(trajectory, limits=limits, one_sequence=self._one_sequence)
            _finish(sample, trajectory, rows, tokenizer)


def _finish(sample: Sample, trajectory: Trajectory, rows: Sequence[Row], tokenizer: Any) -> None:
    """Write an episode that has ended into its sample."""
    error = trajectory.error
    if error is not None:
        _LOG.warning("%s: %s: %s", trajectory.env_name, error["type"], error["message"])
    end = tokenizer.eos_token_id or 0
    rows = rows or [Row([end], [end], [False], [0.0], token_rewards=[0.0])]  # RL2 needs two tokens
    sample.state_dicts = [_state_dict(row, is_masked=error is not None) for row in rows]
    sample.state_dict = sample.state_dicts[-1]
    sample.state_text = tokenizer.decode(sample.state_dict["states"])
    sample.turn = len(trajectory.turns)
    sample.status = Sample.Status.DONE
    for name, values in _metrics(trajectory).items():
        sample.metrics[name].extend(values)


def _state_dict(row: Row, *, is_masked: bool) -> dict[str, list[Any]]:
    """Return the tokens of a row in the fields of RL2."""
    first = [0] * len(row.prompt_ids)
    mask = [int(sampled and not is_masked) for sampled in row.mask]
    return {
        "states": row.prompt_ids + row.response_ids,
        "actions": first + [a * b for a, b in zip(row.response_ids, mask, strict=True)],
        "action_mask": first + mask,
        "logps": [*map(float, first), *row.logprobs],
        "rewards": [*map(float, first), *(0.0 if is_masked else r for r in row.token_rewards)],
    }


def _metrics(trajectory: Trajectory) -> dict[str, list[Any]]:
    turns, failed = trajectory.turns, trajectory.error is not None
    replies = [turn.generation for turn in turns if turn.generation is not None]
    return {
        "response_length": [len(reply.token_ids or ()) for reply in replies],
        "length_clip_ratio": [reply.finish_reason == "length" for reply in replies],
        "turns": [len(turns)],
        "rewards": [0.0 if failed else trajectory.episode_return],
        "truncated": [bool(turns) and bool(turns[-1].truncated)],
        "failed": [failed],
    }


generate = Generate()
"""What RL2 calls, without options."""
