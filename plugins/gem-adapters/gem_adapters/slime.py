"""slime: a custom generation function that plays the episode of a sample, also in parts.

slime calls the function of ``--custom-generate-function-path``. The row of an episode is the
sample's metadata. With ``--partial-rollout``, slime aborts requests and calls the function again
later with the same sample, and the episode goes on.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any, Literal

from slime.rollout.sglang_rollout import GenerateState
from slime.utils.http_utils import post
from slime.utils.types import Sample

from gem_adapters.cached import row_envs
from gem_adapters.sglang import InterruptedEpisodes, Piece, Resumable, stop_strings, with_turn_limit
from gem_core.errors import ConfigError
from gem_rollout import FaultPolicy, Limits, Row, Trajectory, training_rows
from gem_rollout.records.rows import episode_reward
from gem_rollout.tokens.reply import ReplyInterruptedError

__all__ = ["Generate", "generate", "group_rewards"]

_LOG = logging.getLogger(__name__)
_GROUPED = ("cispo", "grpo", "gspo", "reinforce_plus_plus_baseline")
"""The estimators of advantages for which slime normalises rewards within each group."""


class Generate:
    """Plays the environment that the metadata of slime's sample names.

    ``--rollout-max-response-len`` limits each reply, and ``--rollout-max-context-len`` a prompt and
    its reply together. The reward is that of the environment: slime calls no reward model.

    Args:
        config: What environments are composed of, such as ``["tools=[python]"]``; see ``RowEnvs``.
        reward: How the rewards of the turns become the reward of the episode; see
            ``training_rows``.
        gamma: Discount for each turn, in [0, 1].
        limits: Further limits.
        one_sequence: What to do with an episode whose prompts do not extend each other: ``raise``
            ``SequenceError``, train on the ``last`` sequence, or ``split`` it into a list of
            samples, which needs ``group_rewards``.
        policy: What to do with faults, and deadlines. slime removes a sample whose episode an error
            ended, and ``group_rewards`` leaves it out of the mean of its group.
        max_retries: How often slime sends a request that fails, with a second in between.
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
        one_sequence: Literal["raise", "last", "split"] = "raise",
        policy: FaultPolicy | None = None,
        max_retries: int = 60,
        **options: Any,
    ) -> None:
        for name, value, known in (
            ("reward", reward, ("sum", "discounted", "last")),
            ("one_sequence", one_sequence, ("raise", "last", "split")),
        ):
            if value not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}; got {value!r}.")
        episode_reward(Trajectory("", "", 0, 0), reward, gamma)
        self._envs = row_envs(config)
        self._reward: dict[str, Any] = {"reward": reward, "gamma": gamma}
        self._limits = limits or Limits()
        self._one_sequence = one_sequence
        self._policy = policy
        self._max_retries = max_retries
        self._options = options
        self._waiting = InterruptedEpisodes()

    async def __call__(
        self,
        args: Any,
        sample: Sample,
        sampling_params: Mapping[str, Any],
        evaluation: bool = False,  # noqa: FBT001, FBT002 - slime's signature
    ) -> Sample | list[Sample]:
        """Play an episode, or the rest of one whose reply was aborted.

        Args:
            args: slime's arguments.
            sample: slime's sample, which is filled in.
            sampling_params: SGLang's.
            evaluation: Whether slime evaluates; an episode is one sample then.

        Returns:
            The sample; a list of samples under ``one_sequence="split"``.

        Raises:
            ConfigError: The episode cannot be played, or slime would count errors as rewards of 0.
        """
        is_split = self._one_sequence == "split" and not evaluation
        if not evaluation:
            _check_normalization(args)
        if is_split:
            _check_split(args)
        state = GenerateState(args)
        limits = self._limited(args, sampling_params, evaluation=evaluation)
        episode = self._waiting.take(sample) or Resumable(
            self._envs.session(
                sample.metadata,
                state.tokenizer,
                limits=limits,
                one_sequence=self._one_sequence,
                policy=self._policy,
                **{"stop": stop_strings(sampling_params.get("stop")), **self._options},
            )
        )

        async def ask(body: dict[str, Any]) -> Piece:
            if state.aborted:
                raise ReplyInterruptedError("slime has aborted the requests.")
            return Piece.of(await self._post(args, sample, body))

        try:
            trajectory = await episode.play(ask, sampling_params)
        except ReplyInterruptedError:
            sample.status = Sample.Status.ABORTED
            self._waiting.put(sample, episode)
            return sample
        error = trajectory.error
        if error is not None:
            _LOG.warning("%s: %s: %s", trajectory.env_name, error["type"], error["message"])
        end = state.tokenizer.eos_token_id or 0
        rows = training_rows(
            trajectory, limits=limits, one_sequence=self._one_sequence, **self._reward
        ) or [Row([end], [end], [False], [0.0])]  # slime trains on no empty response
        key = (evaluation and args.eval_reward_key) or args.reward_key
        sample.metadata = {**sample.metadata, "turns": len(trajectory.turns), "error": error}
        sample.remove_sample = error is not None
        samples = [sample, *(deepcopy(sample) for _ in rows[1:])] if is_split else [sample]
        for one, row in zip(samples, rows[-len(samples) :], strict=True):
            value = 0.0 if error is not None else row.reward
            one.reward = {key: value} if key else value
            _fill(one, row, episode, args, state.tokenizer)
        if not is_split:
            return sample
        for one in samples:
            one.rollout_id = sample.index if sample.rollout_id is None else sample.rollout_id
        return samples

    async def _post(self, args: Any, sample: Sample, body: dict[str, Any]) -> Any:
        if args.use_rollout_routing_replay:
            body["return_routed_experts"] = True
        headers = None
        if sample.session_id and getattr(args, "router_policy", None) == "consistent_hashing":
            headers = {"X-SMG-Routing-Key": sample.session_id}
        url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}/generate"
        return await post(url, body, max_retries=self._max_retries, headers=headers)

    def _limited(
        self, args: Any, sampling_params: Mapping[str, Any], *, evaluation: bool
    ) -> Limits:
        """Return the limits with those of slime."""
        limits = with_turn_limit(self._limits, sampling_params.get("max_new_tokens"))
        context = args.eval_max_context_len if evaluation else args.rollout_max_context_len
        both = [most for most in (limits.context, context) if most is not None]
        return replace(limits, context=min(both, default=None))


def _check_split(args: Any) -> None:
    if args.partial_rollout:
        raise ConfigError(
            "one_sequence='split' gives lists of samples, which slime cannot keep under "
            "--partial-rollout: leave one of them out."
        )


def _check_normalization(args: Any) -> None:
    """Refuse slime's own normalisation of groups.

    It counts an episode that an error ended as a reward of 0, and takes groups of different sizes,
    such as those of ``one_sequence="split"``, for one.
    """
    is_grouped = args.rewards_normalization and args.advantage_estimator in _GROUPED
    if is_grouped and args.custom_reward_post_process_path is None:
        raise ConfigError(
            "slime would count an episode that an error ended as a reward of 0 in the mean of its "
            "group: set --custom-reward-post-process-path gem_adapters.slime.group_rewards."
        )


def _fill(sample: Sample, row: Row, episode: Resumable, args: Any, tokenizer: Any) -> None:
    """Write a row into a sample; ``remove_sample`` says whether it is masked."""
    row.check_whole_replies()
    sample.prompt = tokenizer.decode(row.prompt_ids)
    sample.tokens = list(row.prompt_ids)
    sample.response, sample.response_length = "", 0
    sample.loss_mask = sample.rollout_log_probs = None
    if args.rollout_top_p != 1.0:  # slime replays the tokens that were possible
        sample.rollout_top_p_token_ids, sample.rollout_top_p_token_offsets = [], [0]
    fresh = episode.resumed if args.mask_offpolicy_in_partial_rollout else (0, 0)
    for ids, place, piece in _parts(row, episode):
        is_trained = piece is not None and place >= fresh and not sample.remove_sample
        sample.append_response_tokens(
            args,
            tokens=ids,
            log_probs=piece.logprobs if piece is not None and is_trained else None,
            trainable=is_trained,
            meta_info=piece.meta if piece is not None else None,
            text=tokenizer.decode(ids),
        )
    if sample.remove_sample:
        sample.status = Sample.Status.FAILED
    else:
        sample.status = Sample.Status.TRUNCATED if row.truncated else Sample.Status.COMPLETED


def _parts(
    row: Row, episode: Resumable
) -> Iterator[tuple[list[int], tuple[int, int], Piece | None]]:
    """Yield the tokens of a response, with the turn and number of each piece of a reply."""
    done = 0
    for turn, (start, end) in zip(row.turns, row.spans, strict=True):
        yield row.response_ids[done:start], (turn, 0), None
        for number, piece in enumerate(episode.pieces[turn]):
            yield piece.ids, (turn, number), piece
        done = end
    yield row.response_ids[done:], (0, 0), None


def group_rewards(args: Any, samples: Sequence[Sample]) -> tuple[list[float], list[float]]:
    """Return the rewards of samples, and the same normalised within each group.

    An episode counts once in its group, however many samples it has. One that an error ended does
    not count, and its normalised reward is 0. slime calls this as
    ``--custom-reward-post-process-path``.

    Args:
        args: slime's arguments.
        samples: The samples of a batch.
    """
    rewards = [sample.get_reward_value(args) for sample in samples]
    groups: dict[Any, dict[Any, float]] = defaultdict(dict)
    for sample, reward in zip(samples, rewards, strict=True):
        if not sample.remove_sample:
            groups[sample.group_index][sample.rollout_id, sample.index] = reward
    means = {group: fmean(episodes.values()) for group, episodes in groups.items()}
    scales = dict.fromkeys(groups, 1.0)
    if args.grpo_std_normalization and args.advantage_estimator in {"grpo", "gspo", "cispo"}:
        for group, episodes in groups.items():
            scales[group] = 1e-6 + (stdev(episodes.values()) if len(episodes) > 1 else 0.0)
    return rewards, [
        0.0
        if sample.remove_sample
        else (reward - means[sample.group_index]) / scales[sample.group_index]
        for sample, reward in zip(samples, rewards, strict=True)
    ]


generate = Generate()
"""What slime calls, without options."""
