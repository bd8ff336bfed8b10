"""Metrics of the episodes of a step."""

from collections.abc import Iterable, Sequence

from gem_rollout import Trajectory, Turn

__all__ = ["rollout_metrics"]


def rollout_metrics(trajectories: Iterable[Trajectory]) -> dict[str, float]:
    """Return the metrics of episodes.

    ===========================  ===================================================================
    ``rollout/episodes``         number of episodes
    ``rollout/return``           sum of the rewards, mean over episodes
    ``rollout/success``          share of successful episodes, among those that report success
    ``rollout/turns``            turns per episode, mean
    ``rollout/response_tokens``  tokens sampled per turn, mean over turns where it is known
    ``rollout/truncated``        share of episodes that the environment truncated
    ``rollout/cut``              share of responses that were cut at their token limit
    ``rollout/format_errors``    share of turns whose action the environment could not parse
    ``rollout/tool_calls``       tool calls per episode, mean; only with tools
    ``rollout/tool_errors``      share of tool calls that failed
    ``rollout/errors``           share of episodes that ended in an error
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
        "success": _mean(float(one.success) for one in episodes if one.success is not None),
        "turns": _mean(len(one.turns) for one in episodes),
        "response_tokens": _mean(n for turn in turns if (n := _sampled(turn)) is not None),
        "truncated": _mean(bool(one.turns) and one.turns[-1].truncated for one in episodes),
        "cut": _mean(one.finish_reason == "length" for one in generations),
        "format_errors": _mean(bool(turn.info.get("format_error")) for turn in turns),
        "tool_calls": calls / len(with_tools) if with_tools else None,
        "tool_errors": 1 - good_calls / calls if calls else None,
        "errors": _mean(one.error is not None for one in episodes),
    }


def _sampled(turn: Turn) -> int | None:
    if turn.generation is None:
        return None
    if turn.generation.token_ids is not None:
        return len(turn.generation.token_ids)
    return turn.generation.completion_tokens


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
