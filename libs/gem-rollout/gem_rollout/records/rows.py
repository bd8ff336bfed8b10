"""Rows to train on: the tokens, masks, log-probabilities and rewards of an episode."""

from dataclasses import dataclass, field
from typing import Literal

from gem_core.content import Image
from gem_core.errors import ConfigError, DataError
from gem_core.observation import Info
from gem_rollout.records.trajectory import Trajectory
from gem_rollout.tokens.agent import OneSequence, SequenceError
from gem_rollout.tokens.limits import Limits
from gem_rollout.tokens.sequences import TokenSequence

__all__ = ["Reward", "Row", "episode_reward", "training_rows"]

Reward = Literal["sum", "discounted", "last", "turns"]
"""How the rewards of an episode's turns become one number for each row."""


@dataclass
class Row:
    """A prompt and a response, which has the replies of all turns and what came between them.

    Lists with one value for each token are as long as ``response_ids``.

    Args:
        prompt_ids: Token ids of the first prompt of the sequence.
        response_ids: All later token ids.
        mask: For each token of the response, whether to train on it: it was sampled, and its
            log-probability is known if those of others of the reply are.
        logprobs: Log-probabilities in nats; 0 where nothing was sampled or none is known.
        reward: One number for the row.
        token_rewards: The reward of a turn at the last token of its reply to train on, 0 elsewhere.
        versions: Version of the policy that sampled each token; None where nothing was sampled or
            it is unknown.
        turn_rewards: The reward of each turn of the row.
        turns: The number of each turn of the row in its episode.
        spans: ``(start, end)`` of each turn's reply in ``response_ids``.
        images: The images that are new in the prompt of each turn of the row.
        terminated: Whether the episode ended by its own rules.
        truncated: Whether it was cut off.
        group: Number of the start state.
        sample: Number of the episode among those that share the start state.
        index: Number of the episode.
        error: The error that ended the episode; None without one.
        has_logprobs: Whether the log-probabilities of all tokens to train on are known.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    mask: list[bool]
    logprobs: list[float]
    reward: float = 0.0
    token_rewards: list[float] = field(default_factory=list)
    versions: list[int | None] = field(default_factory=list)
    turn_rewards: list[float] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    images: list[list[Image]] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    group: int = 0
    sample: int = 0
    index: int = 0
    error: Info | None = None
    has_logprobs: bool = True

    def check_whole_replies(self) -> None:
        """Check that all tokens of each reply are trained on, for trainers that leave out none.

        Raises:
            DataError: A token is not, as its log-probability is unknown.
        """
        for turn, (start, end) in zip(self.turns, self.spans, strict=True):
            if missing := self.mask[start:end].count(False):
                raise DataError(
                    f"The reply of turn {turn + 1} of episode {self.index} has {missing} tokens "
                    f"without a log-probability, and this trainer cannot leave out tokens."
                )


def training_rows(
    trajectory: Trajectory,
    *,
    reward: Reward = "sum",
    gamma: float = 1.0,
    limits: Limits | None = None,
    one_sequence: OneSequence = "raise",
    logprobs: Literal["required", "optional"] = "required",
    replies: Literal["required", "optional"] = "required",
) -> list[Row]:
    """Return the rows of an episode, one for each sequence of tokens.

    Args:
        trajectory: The episode. If an error ended it, its rows have the turns before the error.
        reward: ``sum``, ``discounted`` and ``last`` give each row the return of the episode, the
            return discounted by ``gamma`` for each turn, or the reward of the last turn. ``turns``
            gives it the sum over its own turns.
        gamma: Discount for each turn, in [0, 1].
        limits: Limits that each row is checked against.
        one_sequence: ``raise`` refuses an episode of several sequences, ``split`` returns all, and
            ``last`` returns the last one.
        logprobs: Whether replies without log-probabilities are refused.
        replies: Whether turns without a sampled token are refused.

    Returns:
        The rows; none if the episode has no turn.

    Raises:
        ConfigError: An argument is invalid.
        DataError: Tokens or log-probabilities are missing, a reply is empty, there are several
            agents, or a row is longer than its limits.
        SequenceError: There are several sequences, under ``raise``.
    """
    scalar = episode_reward(trajectory, reward, gamma)
    sequences = trajectory.tokens()
    _check(trajectory, sequences)
    if len(sequences) > 1 and one_sequence == "raise":
        turn = sequences[1].spans[0][0]
        raise SequenceError(
            f"The prompt of turn {turn + 1} of episode {trajectory.index} of "
            f"{trajectory.env_name} does not begin with the tokens of the earlier turns. Use a "
            f"chat template that keeps them, or one_sequence='split' or 'last'."
        )
    if one_sequence == "last":
        sequences = sequences[-1:]
    rows = []
    for sequence in sequences:
        row = _row(trajectory, sequence)
        _check_turns(row, sequence, logprobs=logprobs == "required", replies=replies == "required")
        row.reward = sum(row.turn_rewards) if reward == "turns" else scalar
        if limits is not None:
            _check_limits(row, limits)
        rows.append(row)
    return rows


def episode_reward(trajectory: Trajectory, reward: Reward, gamma: float = 1.0) -> float:
    """Return one number for the rewards of an episode; 0 without a turn.

    Args:
        trajectory: The episode.
        reward: See ``training_rows``; ``turns`` is the same as ``sum``.
        gamma: Discount for each turn, in [0, 1].

    Raises:
        ConfigError: An argument is invalid.
    """
    if reward not in {"sum", "discounted", "last", "turns"}:
        raise ConfigError(f"reward must be one of sum, discounted, last, turns; got {reward!r}.")
    if not 0 <= gamma <= 1:
        raise ConfigError(f"gamma must be in [0, 1]; got {gamma!r}.")
    rewards = [turn.reward for turn in trajectory.turns]
    if reward == "last":
        return rewards[-1] if rewards else 0.0
    if reward == "discounted":
        return sum(value * gamma**turn for turn, value in enumerate(rewards))
    return sum(rewards)


def _check(trajectory: Trajectory, sequences: list[TokenSequence]) -> None:
    where = f"episode {trajectory.index} of {trajectory.env_name}"
    agents = sorted({turn.agent for turn in trajectory.turns})
    if len(agents) > 1:
        raise DataError(
            f"{where.capitalize()} has turns of {', '.join(agents)}; a row is of one agent. Use "
            f"trajectory.of_agent(name)."
        )
    known = {turn for sequence in sequences for turn, _, _ in sequence.spans}
    for turn in range(len(trajectory.turns)):
        if turn not in known:
            raise DataError(
                f"Turn {turn + 1} of {where} has no token ids. Play it with an agent that records "
                f"them: 'transformers', or 'openai' with an endpoint that returns token ids."
            )


def _row(trajectory: Trajectory, sequence: TokenSequence) -> Row:
    first = sequence.spans[0][1]
    response, mask = sequence.ids[first:], sequence.mask[first:]
    logprobs = sequence.logprobs[first:]
    row = Row(
        prompt_ids=sequence.ids[:first],
        response_ids=response,
        mask=mask,
        logprobs=[0.0 if value is None else value for value in logprobs],
        token_rewards=[0.0] * len(response),
        versions=sequence.versions[first:],
        images=sequence.images,
        terminated=bool(trajectory.turns[-1].terminated),
        truncated=bool(trajectory.turns[-1].truncated),
        group=trajectory.group,
        sample=trajectory.sample,
        index=trajectory.index,
        error=trajectory.error,
        has_logprobs=logprobs.count(None) == mask.count(False),
    )
    for number, start, end in sequence.spans:
        reward = trajectory.turns[number].reward
        row.turns.append(number)
        row.turn_rewards.append(reward)
        row.spans.append((start - first, end - first))
        if True in sequence.mask[start:end]:
            last = max(at for at in range(start, end) if sequence.mask[at])
            row.token_rewards[last - first] = reward
    return row


def _check_turns(row: Row, sequence: TokenSequence, *, logprobs: bool, replies: bool) -> None:
    """Raise an error if sampled tokens or their log-probabilities are required and missing."""
    for number, start, end in sequence.spans:
        if replies and start == end:
            raise DataError(f"Turn {number + 1} of episode {row.index} has an empty reply.")
        columns = zip(sequence.mask[start:end], sequence.logprobs[start:end], strict=True)
        if logprobs and (True, None) in columns:
            raise DataError(
                f"Turn {number + 1} of episode {row.index} has no log-probabilities. Ask the "
                f"engine for them, or set logprobs='optional'."
            )


def _check_limits(row: Row, limits: Limits) -> None:
    lengths = {
        "prompt_tokens": len(row.prompt_ids),
        "response_tokens": len(row.response_ids),
        "turn_tokens": max(end - start for start, end in row.spans),
        "context": len(row.prompt_ids) + len(row.response_ids),
    }
    for name, length in lengths.items():
        most = getattr(limits, name)
        if most is not None and length > most:
            raise DataError(
                f"Episode {row.index} has a row with {length} tokens where {name} allows {most}. "
                f"Play the episodes with the same limits."
            )
