"""Comparison of trajectories with an engine's own log."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from gem_rollout.records.trajectory import Trajectory
from gem_serve.gateway.testing.answers import Sample

__all__ = ["differences"]

_Key = tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]


def differences(trajectories: Iterable[Trajectory], log: Iterable[Sample]) -> list[str]:
    """Return the differences between the tokens of trajectories and those that an engine sampled.

    Prompt ids, sampled ids and log-probabilities of each turn must be those of one sample, and each
    sample must be in one turn, where its tokens and no others have mask 1.

    Args:
        trajectories: The trajectories.
        log: The samples that were delivered.
    """
    expected = Counter((tuple(one.prompt_ids), tuple(one.ids), tuple(one.logprobs)) for one in log)
    found = Counter[_Key]()
    problems = []
    for trajectory in trajectories:
        for sequence in trajectory.tokens():
            sampled = 0
            for _, start, end in sequence.spans:
                ids, logprobs = sequence.ids, sequence.logprobs
                found[tuple(ids[:start]), tuple(ids[start:end]), tuple(logprobs[start:end])] += 1
                sampled += sum(sequence.mask[start:end])
            if sampled != sum(sequence.mask):
                problems.append(
                    f"{sum(sequence.mask)} tokens have mask 1, and {sampled} were sampled"
                )
    for key, count in (expected - found).items():
        problems.append(f"{count} samples of {len(key[1])} tokens are in no turn")
    for key, count in (found - expected).items():
        problems.append(f"{count} turns of {len(key[1])} tokens were not sampled")
    return problems
