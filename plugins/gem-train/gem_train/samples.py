"""Training samples: what a trajectory says about each of its turns, as numbers.

A sample is one turn. Its state is the whole prompt of the turn, its action the whole response. The
token ids are those that were given and sampled; no text is tokenised again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gem_core.errors import DataError
from gem_rollout import Trajectory

__all__ = ["Sample", "played", "samples_of"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One turn.

    Args:
        prompt_ids: Token ids of the whole prompt, earlier turns included.
        response_ids: Token ids that were sampled.
        logprobs: The sampler's log-probability of each of them, in nats; None if not known.
        reward: What the step gave.
        done: Whether it is the last turn of its episode, however that ended.
        truncated: Whether the episode was cut with this turn, by a limit of turns for example.
        cut: Whether the response was cut at the limit of its length.
        formatted: Whether the environment could read the action (no ``format_error`` in the info).
        episode: Number of the episode.
        turn: Number of the turn in its episode, from 0.
        group: Number of the start state; episodes of a group started alike.
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


def played(trajectories: Iterable[Trajectory], *, keep_failed: bool = False) -> list[Trajectory]:
    """Return the trajectories that samples are made of: those with a turn, and without an error.

    Args:
        trajectories: The episodes.
        keep_failed: Whether those that ended in an error are among them.
    """
    return [one for one in trajectories if one.turns and (keep_failed or one.error is None)]


def samples_of(trajectories: Iterable[Trajectory], *, keep_failed: bool = False) -> list[Sample]:
    """Return the samples of trajectories, in order.

    Episodes are numbered as they come, and so are groups: episodes are of one group if source,
    environment, seed and number of the group are the same.

    Args:
        trajectories: The episodes; those without a turn are passed over.
        keep_failed: Whether to keep what was played of an episode that ended in an error. Its last
            turn then counts as its end.

    Raises:
        DataError: A turn has no token ids, or an episode has turns of several agents.
    """
    samples: list[Sample] = []
    groups: dict[tuple[str, str, int, int], int] = {}
    for episode, one in enumerate(played(trajectories, keep_failed=keep_failed)):
        group = groups.setdefault((one.component, one.env_id, one.seed, one.group), len(groups))
        samples += _samples_of_episode(one, episode, group)
    return samples


def _samples_of_episode(trajectory: Trajectory, episode: int, group: int) -> list[Sample]:
    agents = sorted({turn.agent for turn in trajectory.turns})
    if len(agents) > 1:
        raise DataError(
            f"Episode {trajectory.index} of {trajectory.env_id} has turns of {', '.join(agents)}; "
            f"training reads episodes of one agent. Make a trajectory of each agent's turns."
        )
    samples = []
    for sequence in trajectory.tokens():
        for number, start, end in sequence.spans:
            turn = trajectory.turns[number]
            logprobs = [value for value in sequence.logprobs[start:end] if value is not None]
            samples.append(
                Sample(
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
    if len(samples) < len(trajectory.turns):
        known = {sample.turn for sample in samples}
        first = next(number for number in range(len(trajectory.turns)) if number not in known)
        raise DataError(
            f"Turn {first} of episode {trajectory.index} of {trajectory.env_id} has no token ids. "
            f"Sample with an agent that keeps them: 'transformers', or 'openai' with an endpoint "
            f"that returns token ids."
        )
    return samples
