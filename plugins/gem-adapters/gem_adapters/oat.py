"""Oat: the transitions of an episode, one for each turn, for its trainer of several turns.

Oat needs a Python older than 3.11, so nothing of it is imported here.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gem_core.observation import text_of
from gem_rollout import Row, Trajectory, training_rows

__all__ = ["transitions"]

_Transition = TypeVar("_Transition")


def transitions(
    trajectory: Trajectory,
    transition_type: Callable[..., _Transition],
    tokenizer: Any,
    *,
    ignore_no_eos: bool = False,
) -> list[_Transition]:
    """Return an episode as ``PPOMultiTurnActor.collect_experience`` of Oat returns it.

    Each turn has its whole prompt, so chat templates and wrappers may rewrite earlier turns. The
    last transition is ``done``, also if the episode was truncated: Oat does not estimate the value
    of what would follow.

    Args:
        trajectory: The episode.
        transition_type: ``oat.types.Transition``, or ``dict`` for its fields.
        tokenizer: Decodes the texts of prompts and responses.
        ignore_no_eos: Whether turns whose response was cut off by a limit of tokens are left out of
            the loss, as with Oat's argument of this name.

    Returns:
        A transition for each turn; none if an error ended the episode.

    Raises:
        DataError: Tokens or log-probabilities are missing, a reply is empty, or there are several
            agents.
    """
    if trajectory.error is not None:
        return []
    return [
        transition_type(**fields)
        for row in training_rows(trajectory, one_sequence="split")
        for fields in _turns(trajectory, row, tokenizer, ignore_no_eos=ignore_no_eos)
    ]


def _turns(
    trajectory: Trajectory, row: Row, tokenizer: Any, *, ignore_no_eos: bool
) -> Iterator[dict[str, Any]]:
    """Yield the fields of each turn of a row."""
    row.check_whole_replies()
    for number, (start, end) in zip(row.turns, row.spans, strict=True):
        turn = trajectory.turns[number]
        prompt_ids = row.prompt_ids + row.response_ids[:start]
        response_ids = row.response_ids[start:end]
        is_cut = turn.generation is not None and turn.generation.finish_reason == "length"
        yield {
            "obs": text_of(turn.observation),
            "action": str(turn.action),
            "rewards": turn.reward,
            "done": number == len(trajectory.turns) - 1,
            "prompt": _text(tokenizer, prompt_ids),
            "prompt_ids": prompt_ids,
            "response": _text(tokenizer, response_ids, skip_special_tokens=True),
            "response_ids": response_ids,
            "response_logprobs": row.logprobs[start:end],
            "response_is_truncated": is_cut,
            "action_is_formatted": not turn.info.get("format_error", False),
            "loss_mask": not (ignore_no_eos and is_cut),
            "info": {},  # Oat adds advantages and metrics to it, and averages what it has
        }


def _text(tokenizer: Any, ids: list[int], *, skip_special_tokens: bool = False) -> str:
    text: str = tokenizer.decode(
        ids, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False
    )
    return text
