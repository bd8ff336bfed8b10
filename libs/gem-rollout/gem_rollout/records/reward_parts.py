"""The named parts of the rewards of episodes: ``info["rewards"]`` of their steps.

A part of an episode is the sum of its values over the steps, as the return is the sum of the
rewards. So if each reward is a weighted sum of its parts, the mean return is the same weighted sum
of the mean parts.
"""

from collections.abc import Iterable, Mapping
from numbers import Real

from gem_rollout.records.trajectory import Trajectory

__all__ = ["mean_reward_parts", "reward_parts"]


def reward_parts(trajectory: Trajectory) -> dict[str, float]:
    """Return the named parts of the rewards of an episode, each summed over the steps.

    Values that are not numbers are left out.
    """
    sums: dict[str, float] = {}
    for turn in trajectory.turns:
        parts = turn.info.get("rewards")
        for name, value in parts.items() if isinstance(parts, Mapping) else ():
            if isinstance(value, Real):
                sums[str(name)] = sums.get(str(name), 0.0) + float(value)
    return sums


def mean_reward_parts(
    episodes: Iterable[tuple[str, Mapping[str, float]]],
) -> dict[str, float]:
    """Return the mean of each part over the episodes of the environments that report it.

    An episode of such an environment that does not report the part, because a limit or an error
    ended it before it was graded, counts as 0, as it does in the return.

    Args:
        episodes: The name of the environment and the parts, for each episode.
    """
    listed = list(episodes)
    reporting: dict[str, set[str]] = {}
    for env, parts in listed:
        for name in parts:
            reporting.setdefault(name, set()).add(env)
    return {name: _mean(listed, name, envs) for name, envs in reporting.items()}


def _mean(episodes: list[tuple[str, Mapping[str, float]]], name: str, envs: set[str]) -> float:
    values = [parts.get(name, 0.0) for env, parts in episodes if env in envs]
    return sum(values) / len(values)
