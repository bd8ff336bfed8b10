"""Transitions: the turns of trajectories as numbers to train on.

A transition is one turn. Its state is the whole prompt, its action the whole response. The token
ids are those that the model was given and sampled; no text is tokenised again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gem_core.errors import DataError
from gem_rollout import Trajectory

__all__ = ["Transition", "trainable", "transitions_of"]


@dataclass(frozen=True, slots=True)
class Transition:
    """One turn of an episode.

    Args:
        prompt_ids: Token ids of the whole prompt, earlier turns included.
        response_ids: Token ids that were sampled.
        logprobs: The sampler's log-probability of each of them, in nats; None if not known.
        reward: Reward of the step.
        done: Whether it is the last turn of its episode, for any reason.
        truncated: Whether the episode was truncated at this turn, for example by a turn limit.
        cut: Whether the response was cut at its token limit.
        formatted: Whether the environment could parse the action (no ``format_error`` in the info).
        episode: Index of the episode.
        turn: Index of the turn in its episode, from 0.
        group: Index of the group; the episodes of a group share a start state.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    logprobs: list[float] | None
    reward: float
    done: bool
    truncated: bool
    cut: bool
    formatted: bool
    episode: int
    turn: int
    group: int


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
    agents = sorted({turn.agent for turn in trajectory.turns})
    if len(agents) > 1:
        raise DataError(
            f"Episode {trajectory.index} of {trajectory.env_id} has turns of {', '.join(agents)}; "
            f"training needs episodes of one agent. Make one trajectory of each agent's turns."
        )
    transitions = []
    for sequence in trajectory.tokens():
        for number, start, end in sequence.spans:
            turn = trajectory.turns[number]
            logprobs = [value for value in sequence.logprobs[start:end] if value is not None]
            transitions.append(
                Transition(
                    prompt_ids=sequence.ids[:start],
                    response_ids=sequence.ids[start:end],
                    logprobs=logprobs if len(logprobs) == end - start else None,
                    reward=turn.reward,
                    done=number == len(trajectory.turns) - 1,
                    truncated=turn.truncated,
                    cut=turn.generation is not None and turn.generation.finish_reason == "length",
                    formatted=not turn.info.get("format_error", False),
                    episode=episode,
                    turn=number,
                    group=group,
                )
            )
    if len(transitions) < len(trajectory.turns):
        known = {transition.turn for transition in transitions}
        first = next(number for number in range(len(trajectory.turns)) if number not in known)
        raise DataError(
            f"Turn {first} of episode {trajectory.index} of {trajectory.env_id} has no token ids. "
            f"Play it with an agent that records them: 'transformers', or 'openai' with an "
            f"endpoint that returns token ids."
        )
    return transitions
