"""Transitions: the turns of trajectories as numbers to train on.

A transition is one turn. Its state is the whole prompt, its action the whole response. The token
ids are those of the rows of ``gem_rollout.training_rows``, which turns of one sequence share.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gem_core.content import Image
from gem_rollout import Row, Trajectory, training_rows

__all__ = ["Transition", "trainable", "transitions_of"]


@dataclass(frozen=True, slots=True)
class Transition:
    """One turn of an episode.

    Args:
        row: The row that has the turn's tokens.
        span: ``(start, end)`` of the reply in ``row.response_ids``.
        reward: Reward of the step.
        done: Whether it is the last turn of its episode, for any reason.
        truncated: Whether the episode was truncated at this turn, for example by a turn limit, and
            did not end by its own rules.
        cut: Whether the response was cut at its token limit.
        formatted: Whether the environment could parse the action (no ``format_error`` in the info).
        episode: Index of the episode.
        turn: Index of the turn in its episode, from 0.
        group: Index of the group; the episodes of a group share a start state.
    """

    row: Row
    span: tuple[int, int]
    reward: float
    done: bool
    truncated: bool
    cut: bool
    formatted: bool
    episode: int
    turn: int
    group: int

    @property
    def prompt_ids(self) -> list[int]:
        """Token ids of the whole prompt, earlier turns included."""
        return self.row.prompt_ids + self.row.response_ids[: self.span[0]]

    @property
    def response_ids(self) -> list[int]:
        """Token ids that were sampled."""
        return self.row.response_ids[slice(*self.span)]

    @property
    def images(self) -> list[Image]:
        """The images of the whole prompt, in the order of their tokens."""
        shown = self.row.images[: self.row.spans.index(self.span) + 1]
        return [image for of_turn in shown for image in of_turn]

    @property
    def logprobs(self) -> list[float] | None:
        """The sampler's log-probability of each of them, in nats; None if not known."""
        return self.row.logprobs[slice(*self.span)] if self.row.has_logprobs else None


def trainable(trajectories: Iterable[Trajectory], *, keep_failed: bool = False) -> list[Trajectory]:
    """Return the trajectories to train on: those with at least one turn and without an error.

    Args:
        trajectories: The episodes.
        keep_failed: Whether to include episodes that ended in an error.
    """
    return [one for one in trajectories if one.turns and (keep_failed or one.error is None)]


def transitions_of(
    trajectories: Iterable[Trajectory], *, keep_failed: bool = False
) -> list[Transition]:
    """Return the transitions of trajectories, in order.

    Episodes and groups are numbered in order of appearance. Episodes belong to one group if
    source, environment, seed and group number are equal.

    Args:
        trajectories: The episodes; those without a turn are skipped.
        keep_failed: Whether to include episodes that ended in an error, up to their last turn.

    Raises:
        DataError: A turn has no token ids, or an episode has turns of several agents.
    """
    transitions: list[Transition] = []
    groups: dict[tuple[str, str, int, int], int] = {}
    for episode, one in enumerate(trainable(trajectories, keep_failed=keep_failed)):
        group = groups.setdefault((one.component, one.env_id, one.seed, one.group), len(groups))
        transitions += _of_episode(one, episode, group)
    return transitions


def _of_episode(trajectory: Trajectory, episode: int, group: int) -> list[Transition]:
    rows = training_rows(trajectory, one_sequence="split", logprobs="optional", replies="optional")
    transitions = []
    for row in rows:
        for number, span in zip(row.turns, row.spans, strict=True):
            turn = trajectory.turns[number]
            transitions.append(
                Transition(
                    row=row,
                    span=span,
                    reward=turn.reward,
                    done=number == len(trajectory.turns) - 1,
                    truncated=turn.truncated and not turn.terminated,
                    cut=turn.generation is not None and turn.generation.finish_reason == "length",
                    formatted=not turn.info.get("format_error", False),
                    episode=episode,
                    turn=number,
                    group=group,
                )
            )
    return transitions
