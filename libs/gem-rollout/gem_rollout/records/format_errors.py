"""Says when most episodes of a run ended with an answer that could not be read.

A model that was not told the form of an answer, or was cut off before it, fails every task however
good it is. The figures alone do not show that.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from gem_core.errors import GemError
from gem_core.observation import text_of
from gem_core.plugins import default_registry
from gem_core.specs import ENVS
from gem_rollout.answer_instruction import DEFAULT, KEY
from gem_rollout.records.trajectory import Trajectory, Turn

__all__ = ["BadEnding", "FormatErrors", "bad_ending_of", "quote_of"]

_SHOWN = 60
"""The number of characters of an answer that are quoted, from its end."""
_LIMIT = "max_tokens (max_new_tokens of the agent transformers)"


class BadEnding(NamedTuple):
    """The end of an episode whose last action did not have the form that was asked for."""

    quote: str
    """The last characters of what the agent wrote."""
    is_cut: bool
    """Whether the model reached its token limit."""
    required: str
    """The ``answer_instruction`` of the environment's class; empty if it has none."""
    was_told: bool
    """Whether the first observation contains it."""


def bad_ending_of(trajectory: Trajectory) -> BadEnding | None:
    """Return how an episode ended, if ``format_error`` is in the info of its last step."""
    if trajectory.error is not None or not trajectory.turns:
        return None
    first, last = trajectory.turns[0], trajectory.turns[-1]
    if not last.info.get("format_error"):
        return None
    made, required = last.generation, _required(trajectory.env_id)
    return BadEnding(
        quote_of(last),
        made is not None and made.finish_reason == "length",
        required,
        required in text_of(first.observation),
    )


def quote_of(turn: Turn) -> str:
    """Return the last characters of a model's reply, or of the action if no model was asked.

    The action may be another: in training, a reply that was cut is replaced.
    """
    said = turn.generation.reply.get("content") if turn.generation is not None else None
    text = (said if isinstance(said, str) else str(turn.action)).rstrip()
    return text if len(text) <= _SHOWN else f"...{text[-_SHOWN:]}"


def _required(env_id: str) -> str:
    """Return the class's ``answer_instruction``; empty if it has none, or is not registered."""
    try:
        target = default_registry().find(ENVS, env_id).load()
    except GemError:
        return ""
    return str(getattr(target, KEY, ""))


@dataclass
class _Count:
    """The episodes of an agent in an environment, and their bad endings."""

    episodes: int = 0
    bad: int = 0
    cut: int = 0
    first: BadEnding | None = None


class FormatErrors:
    """Counts the episodes of each environment and agent that ended with an unreadable answer.

    Args:
        limit: The key of the token limit of a reply, for advice.
    """

    def __init__(self, limit: str = _LIMIT) -> None:
        self._limit = limit
        self._counts: dict[tuple[str, str], _Count] = defaultdict(_Count)

    def add(self, env: str, agent: str, ending: BadEnding | None) -> None:
        """Count an episode; ``ending`` is the result of ``bad_ending_of``."""
        count = self._counts[env, agent]
        count.episodes += 1
        if ending is not None:
            count.bad += 1
            count.cut += ending.is_cut
            count.first = count.first or ending

    def lines(self) -> list[str]:
        """Return a text for each environment and agent with more bad endings than others."""
        return [
            _line(env, agent, count, count.first, self._limit)
            for (env, agent), count in self._counts.items()
            if count.first is not None and 2 * count.bad > count.episodes
        ]


def _line(env: str, agent: str, count: _Count, example: BadEnding, limit: str) -> str:
    said = f"for example: {example.quote!r}" if example.quote else "for example an empty one"
    text = (
        f"{count.bad} of {count.episodes} episodes of {agent} in {env} ended with an answer "
        f"that does not have the required form, {said}. {_advice(example)}"
    )
    if count.cut:
        text += f" In {count.cut} of them the model reached its token limit: raise {limit}."
    return text


def _advice(example: BadEnding) -> str:
    if not example.required:
        return "The first observation says which form is required."
    if example.was_told:
        return f'The model was told: "{example.required}" {KEY}=TEXT tells it something else.'
    return (
        f'The model was not told: "{example.required}" {KEY}={DEFAULT} tells it, unless the '
        f"parameter prompt of the environment takes its place."
    )
