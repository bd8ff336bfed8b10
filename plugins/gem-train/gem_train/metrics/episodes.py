"""Metrics of the episodes of a step, and of the speed of a step."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gem_rollout import Trajectory, Turn
from gem_rollout.records.reward_parts import mean_reward_parts, reward_parts

__all__ = ["rollout_metrics", "speed_metrics", "staleness_metrics"]


def rollout_metrics(trajectories: Iterable[Trajectory]) -> dict[str, float]:
    """Return the metrics of episodes.

    ===========================  ===================================================================
    ``rollout/episodes``         number of episodes
    ``rollout/return``           sum of the rewards, mean over episodes
    ``rollout/rewards/<part>``   sum of a named part of the rewards, mean over episodes
    ``rollout/success``          share of successful episodes, among those that report success
    ``rollout/turns``            turns per episode, mean
    ``rollout/response_tokens``  tokens sampled per turn, mean over turns where it is known
    ``rollout/truncated``        share of episodes that the environment truncated
    ``rollout/cut``              share of responses that were cut at their token limit
    ``rollout/format_errors``    share of turns whose action the environment could not parse
    ``rollout/tool_calls``       tool calls per episode, mean; only with tools
    ``rollout/tool_errors``      share of tool calls that failed
    ``rollout/errors``           share of episodes that ended in an error
    ``rollout/retried``          share of episodes that were played again after an error
    ``rollout/equal_groups``     share of groups whose episodes all have the same return; only with
                                 groups of several episodes
    ===========================  ===================================================================

    An episode that ended in an error counts with its return so far, and as not successful. With
    several environments, or several sources of a mixture, the same metrics exist for each of them,
    such as ``rollout/<name>/return``. Unknown metrics are left out.

    Args:
        trajectories: The episodes.
    """
    episodes = list(trajectories)
    parts: dict[str, list[Trajectory]] = {}
    for one in episodes:
        parts.setdefault(one.component or one.env_id, []).append(one)
    metrics = _prefixed("rollout", _metrics(episodes))
    if len(parts) > 1:
        for name in sorted(parts):
            metrics |= _prefixed(f"rollout/{name}", _metrics(parts[name]))
    return metrics


def speed_metrics(
    trajectories: Sequence[Trajectory],
    *,
    learned_tokens: float,
    sample_seconds: float,
    learn_seconds: float,
) -> dict[str, float]:
    """Return the metrics ``speed/...`` of a step.

    Args:
        trajectories: The episodes that were collected.
        learned_tokens: Number of tokens that the loss was computed over.
        sample_seconds: Time of the collection.
        learn_seconds: Time of the updates.
    """
    tokens = sum(
        len(turn.generation.token_ids or ())
        for one in trajectories
        for turn in one.turns
        if turn.generation is not None
    )
    return {
        "speed/sampled_tokens_per_second": tokens / sample_seconds,
        "speed/learned_tokens_per_second": learned_tokens / learn_seconds,
        "speed/episodes_per_second": len(trajectories) / (sample_seconds + learn_seconds),
    }


def staleness_metrics(trajectories: Iterable[Trajectory], version: int) -> dict[str, float]:
    """Return ``train/staleness`` and ``train/max_staleness``; nothing if no version is known.

    The staleness of a sampled token is the number of updates of the policy's weights since those
    that sampled it.

    Args:
        trajectories: The episodes that are learned from.
        version: The version of the policy that learns.
    """
    generations = (turn.generation for one in trajectories for turn in one.turns)
    sampled = (one.versions or () for one in generations if one is not None)
    stale = [version - known for each in sampled for known in each if known is not None]
    if not stale:
        return {}
    return {
        "train/staleness": sum(stale) / len(stale),
        "train/max_staleness": float(max(stale)),
    }


def _prefixed(prefix: str, metrics: dict[str, float | None]) -> dict[str, float]:
    return {f"{prefix}/{name}": value for name, value in metrics.items() if value is not None}


def _metrics(episodes: Sequence[Trajectory]) -> dict[str, float | None]:
    turns = [turn for one in episodes for turn in one.turns]
    generations = [turn.generation for turn in turns if turn.generation is not None]
    last = [one.turns[-1] for one in episodes if one.turns]
    with_tools = [turn for turn in last if "tool_use_counter" in turn.info]
    calls = sum(turn.info["tool_use_counter"] for turn in with_tools)
    good_calls = sum(turn.info.get("tool_success_counter", 0) for turn in with_tools)
    return {
        "episodes": len(episodes),
        "return": _mean(one.episode_return for one in episodes),
        **{f"rewards/{part}": mean for part, mean in _reward_parts(episodes).items()},
        "success": _mean(float(one.success) for one in episodes if one.success is not None),
        "turns": _mean(len(one.turns) for one in episodes),
        "response_tokens": _mean(n for turn in turns if (n := _sampled(turn)) is not None),
        "truncated": _mean(bool(one.turns) and one.turns[-1].truncated for one in episodes),
        "cut": _mean(one.finish_reason == "length" for one in generations),
        "format_errors": _mean(bool(turn.info.get("format_error")) for turn in turns),
        "tool_calls": calls / len(with_tools) if with_tools else None,
        "tool_errors": 1 - good_calls / calls if calls else None,
        "errors": _mean(one.error is not None for one in episodes),
        "retried": _mean(bool(one.failures) for one in episodes),
        "equal_groups": _mean(_are_equal(episodes)),
    }


def _reward_parts(episodes: Sequence[Trajectory]) -> dict[str, float]:
    return mean_reward_parts((one.env_name, reward_parts(one)) for one in episodes)


def _are_equal(episodes: Sequence[Trajectory]) -> Iterator[bool]:
    """Yield for each group of several episodes whether their returns are the same."""
    returns: dict[tuple[Any, ...], list[float]] = {}
    for one in episodes:
        group = (one.component, one.env_id, one.seed, one.group)
        returns.setdefault(group, []).append(one.episode_return)
    for found in returns.values():
        if len(found) > 1:
            yield len(set(found)) == 1


def _sampled(turn: Turn) -> int | None:
    if turn.generation is None:
        return None
    if turn.generation.token_ids is not None:
        return len(turn.generation.token_ids)
    return turn.generation.completion_tokens


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
