"""The prompt that a trainer samples from, its reply, and the result of the turn."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from gem_core.errors import GemError
from gem_core.observation import Info
from gem_rollout.tokens.sampler import Sampled

__all__ = ["Prompt", "ReplyError", "ReplyInterruptedError", "TurnResult", "checked_reply"]

_ROUNDING = 1e-6
"""How much a log-probability may be above 0."""


class ReplyError(GemError, ValueError):
    """The output of an engine cannot be the reply to its prompt."""


class ReplyInterruptedError(GemError):
    """The engine stopped in the middle of a reply, which it will continue later."""


class Prompt(NamedTuple):
    """A prompt to sample from.

    Args:
        ids: Token ids of the whole prompt.
        new: Those that are new in this turn.
        extends: Whether the prompt begins with all earlier tokens of the episode.
        room: Most tokens that may be sampled; None without limits.
        stop: Strings that end a reply and stay part of it.
        turn: Number of the turn, from 0.
        seed: Seed for the sampling, a different one for each turn and sample.
    """

    ids: list[int]
    new: list[int]
    extends: bool
    room: int | None
    stop: tuple[str, ...]
    turn: int
    seed: int


class TurnResult(NamedTuple):
    """The result of a turn.

    Args:
        reward: Reward of the turn.
        terminated: Whether the episode ended by its own rules.
        truncated: Whether it was cut off: by the environment, or as no tokens are left.
        info: The step's info.
        prompt: The prompt of the next turn; None if the episode has ended.
        error: The error that ended the episode, as ``Trajectory.error`` has it; None without one.
    """

    reward: float
    terminated: bool
    truncated: bool
    info: Info
    prompt: Prompt | None
    error: Info | None


def checked_reply(
    prompt: Prompt,
    ids: Iterable[int],
    logprobs: Iterable[float | None] | None,
    *,
    versions: Iterable[int | None] = (),
    complete: bool,
    end: int | None,
    needs_logprobs: bool,
) -> Sampled:
    """Return the reply to a prompt.

    Args:
        prompt: The prompt.
        ids: The sampled tokens.
        logprobs: The log-probability of each, in nats; None for a token whose own is unknown.
        versions: The version of the policy that sampled each; may be empty.
        complete: Whether the reply ended by itself.
        end: The end-of-sequence token; None if there is none.
        needs_logprobs: Whether log-probabilities must be given.

    Raises:
        ReplyError: It cannot be one.
    """
    where = f"The reply of turn {prompt.turn + 1}"
    tokens = _ints(ids, where)
    if not tokens:
        raise ReplyError(f"{where} is empty: the engine sampled no token.")
    if prompt.room is not None and len(tokens) > prompt.room:
        raise ReplyError(
            f"{where} has {len(tokens)} tokens, and {prompt.room} were allowed: pass "
            f"prompt.room to the engine as its limit."
        )
    if end is not None and end in tokens[:-1]:
        raise ReplyError(
            f"{where} goes on after its end: token {tokens.index(end) + 1} of {len(tokens)} is "
            f"the end-of-sequence token."
        )
    values = [] if logprobs is None else _floats(logprobs, where)
    if not any(one is not None for one in values):
        values = []
    if needs_logprobs or values:
        if len(values) != len(tokens):
            raise ReplyError(
                f"{where} has {len(tokens)} tokens and {len(values)} log-probabilities; "
                f"there must be one for each token. Ask the engine for those of sampled tokens."
            )
        wrong = [one for one in values if one is not None and not -math.inf < one <= _ROUNDING]
        if wrong:
            raise ReplyError(
                f"{where} has the log-probability {wrong[0]}; it must be a finite number of at "
                f"most 0."
            )
    known = list(versions)
    is_valid = all(one is None or type(one) is int for one in known)
    if not is_valid or len(known) not in {0, len(tokens)}:
        raise ReplyError(
            f"{where} has {len(tokens)} tokens and the versions {str(known)[:80]}; there must be a "
            f"whole number or None for each token, or nothing."
        )
    return Sampled(tokens, values, complete, versions=known)


def _ints(ids: Any, where: str) -> list[int]:
    """Return token ids as plain ints."""
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    try:
        tokens = list(listed)
    except TypeError:
        raise ReplyError(f"{where} has {ids!r} instead of token ids.") from None
    for token in tokens:
        if type(token) is not int or token < 0:
            raise ReplyError(f"{where} has {token!r} instead of a token id.")
    return tokens


def _floats(logprobs: Any, where: str) -> list[float | None]:
    listed = logprobs.tolist() if hasattr(logprobs, "tolist") else logprobs
    try:
        return [None if value is None else float(value) for value in listed]
    except (TypeError, ValueError):
        raise ReplyError(f"{where} has {logprobs!r} instead of log-probabilities.") from None
