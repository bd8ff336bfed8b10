"""Figures of a run: per environment, per level, overall, for each agent.

An episode that ended with an error counts as a failure, with the return that it had reached;
``success_without_errors`` leaves such episodes out.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_eval.episodes import EpisodeRecord, range_of_all, tasks_of, with_task_ids
from gem_eval.statistics import (
    Estimate,
    average,
    correlations,
    mean_estimate,
    pass_all,
    pass_at,
    proportion_estimate,
)
from gem_rollout.records.reward_parts import mean_reward_parts

__all__ = ["Figures", "Row", "figures_of", "metrics_of", "rows_of"]

POOLED = "all episodes"
MEAN_OVER_ENVS = "mean over environments"
LATENCIES = ("model", "queue", "agent", "env", "tool", "setup")


@dataclass(frozen=True)
class Figures:
    """Figures of a set of episodes.

    Args:
        episodes: Number of episodes.
        tasks: Number of different tasks: questions or, without ids of tasks, start states.
        mean_return: Mean return, in the range of the environment's returns.
        success: Success rate, in [0, 1]; None if no environment defines success.
        success_without_errors: Success rate of the episodes without an error.
        pass_at: pass@k by k: mean over the tasks with at least k episodes, which are at least half
            of the tasks.
        pass_all: pass^k by k: mean over the same tasks.
        turns: Mean number of turns of an episode.
        truncated: Share of episodes that a limit ended.
        prompt_tokens: Mean number of prompt tokens of an episode; None if unknown.
        completion_tokens: Mean number of sampled tokens of an episode; None if unknown.
        total_tokens: Prompt and sampled tokens of all episodes.
        cost: Cost of all episodes; None if unknown.
        tool_calls: Mean number of tool calls of an episode.
        tool_success: Share of the tool calls that succeeded; None without calls.
        format_errors: Share of turns whose action did not have the form that was asked for.
        cut_replies: Share of turns in which the model reached its token limit.
        seconds: Mean wall time of an episode in seconds, by its part, such as ``model``.
        seconds_p50: Median wall time of an episode in seconds.
        seconds_p95: 95th percentile of the wall time in seconds.
        errors: Number of episodes that ended with an error, by boundary.
        stragglers: Number of episodes that a deadline ended.
        repeats: Number of attempts that failed and were repeated.
        rewards: Mean of each named part of the rewards, which is summed over the steps of an
            episode; over the episodes of the environments that report it.
    """

    episodes: int
    tasks: int
    mean_return: Estimate
    success: Estimate | None
    success_without_errors: float | None
    pass_at: dict[int, Estimate]
    pass_all: dict[int, Estimate]
    turns: float
    truncated: float
    prompt_tokens: float | None
    completion_tokens: float | None
    total_tokens: int
    cost: float | None
    tool_calls: float
    tool_success: float | None
    format_errors: float
    cut_replies: float
    seconds: dict[str, float]
    seconds_p50: float
    seconds_p95: float
    errors: dict[str, int] = field(default_factory=dict)
    stragglers: int = 0
    repeats: int = 0
    rewards: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        plain = dict(vars(self))
        for name in ("mean_return", "success"):
            plain[name] = None if plain[name] is None else plain[name].to_dict()
        for name in ("pass_at", "pass_all"):
            plain[name] = {str(k): one.to_dict() for k, one in plain[name].items()}
        return plain


@dataclass(frozen=True)
class Row:
    """Figures with the agent and the episodes that they describe.

    Args:
        agent: Name of the agent.
        scope: ``env``, ``level``, ``pooled`` or ``macro``.
        name: The environment's id, the level, or a name for all episodes.
        figures: The figures. In the scope ``macro`` return, success and pass@k are means over
            environments with equal weights; the other figures are those of all episodes.
    """

    agent: str
    scope: str
    name: str
    figures: Figures

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        head = {"agent": self.agent, "scope": self.scope, "name": self.name}
        return head | self.figures.to_dict()


def figures_of(episodes: Sequence[EpisodeRecord], confidence: float = 0.95) -> Figures:
    """Return the figures of one or more episodes.

    Args:
        episodes: The episodes.
        confidence: Confidence level of the intervals, in (0, 1).
    """
    judged = [one for one in episodes if one.success is not None]
    sound = [bool(one.success) for one in judged if one.failure is None]
    failures = [one.failure for one in episodes if one.failure is not None]
    turns = sum(one.turns for one in episodes)
    calls = sum(one.tool_calls for one in episodes)
    durations = sorted(one.seconds for one in episodes)
    costs = [one.cost for one in episodes if one.cost is not None]
    returns, successes = _returns(episodes), _successes(judged)
    ends = range_of_all(one.return_range for one in episodes)
    at, every = _passes(judged, confidence)
    return Figures(
        episodes=len(episodes),
        tasks=len(tasks_of(episodes)),
        mean_return=mean_estimate(list(returns.values()), confidence, ends),
        success=proportion_estimate(list(successes.values()), confidence) if judged else None,
        success_without_errors=sum(sound) / len(sound) if sound else None,
        pass_at=at,
        pass_all=every,
        turns=turns / len(episodes),
        truncated=_mean(episodes, lambda one: one.truncated) or 0.0,
        prompt_tokens=_mean(episodes, lambda one: one.prompt_tokens),
        completion_tokens=_mean(episodes, lambda one: one.completion_tokens),
        total_tokens=sum((e.prompt_tokens or 0) + (e.completion_tokens or 0) for e in episodes),
        cost=sum(costs) if costs else None,
        tool_calls=calls / len(episodes),
        tool_success=sum(one.tool_successes for one in episodes) / calls if calls else None,
        format_errors=sum(one.format_errors for one in episodes) / turns if turns else 0.0,
        cut_replies=sum(one.cut_replies for one in episodes) / turns if turns else 0.0,
        seconds={
            name: sum(getattr(one, f"{name}_seconds") for one in episodes) / len(episodes)
            for name in LATENCIES
        },
        seconds_p50=_quantile(durations, 0.5),
        seconds_p95=_quantile(durations, 0.95),
        errors=dict(Counter(failure.boundary for failure in failures)),
        stragglers=sum(failure.kind == "DeadlineError" for failure in failures),
        repeats=sum(one.repeats for one in episodes),
        rewards=mean_reward_parts((one.env_id, one.rewards) for one in episodes),
    )


def _mean(
    episodes: Sequence[EpisodeRecord], of: Callable[[EpisodeRecord], float | None]
) -> float | None:
    known = [value for one in episodes if (value := of(one)) is not None]
    return sum(known) / len(known) if known else None


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the nearest-rank quantile of sorted values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


Values = dict[Hashable, list[float]]
"""Values by cluster."""


def _values(pairs: Iterable[tuple[Hashable, float]]) -> Values:
    values: Values = {}
    for cluster, value in pairs:
        values.setdefault(cluster, []).append(value)
    return values


def _returns(episodes: Iterable[EpisodeRecord]) -> Values:
    return _values((one.cluster, one.episode_return) for one in episodes)


def _successes(episodes: Iterable[EpisodeRecord]) -> Values:
    judged = (one for one in episodes if one.success is not None)
    return _values((one.cluster, float(bool(one.success))) for one in judged)


def _passed(
    episodes: Iterable[EpisodeRecord], k: int, chance: Callable[[int, int, int], float]
) -> tuple[Values, int]:
    """Return a value for each task with at least k episodes, and the number of their episodes."""
    judged = (one for one in episodes if one.success is not None)
    enough = [task for task in tasks_of(judged).values() if len(task) >= k]
    values = (
        (task[0].cluster, chance(len(task), sum(bool(one.success) for one in task), k))
        for task in enough
    )
    return _values(values), sum(map(len, enough))


def _passes(
    episodes: Sequence[EpisodeRecord], confidence: float
) -> tuple[dict[int, Estimate], dict[int, Estimate]]:
    """Return pass@k and pass^k for k = 1, 2, 4, ... and the largest k; empty if that is 1.

    At least half of the tasks have k episodes. More often, a few have more because the dataset
    repeats a question, and say nothing about the others.
    """
    counts = sorted((len(task) for task in tasks_of(episodes).values()), reverse=True)
    largest = counts[(len(counts) - 1) // 2] if counts else 0
    ks = sorted(
        {k for k in (2**i for i in range(largest.bit_length())) if k <= largest} | {largest}
    )
    at: dict[int, Estimate] = {}
    every: dict[int, Estimate] = {}
    for k in ks if largest > 1 else []:
        for found, chance in ((at, pass_at), (every, pass_all)):
            values, trials = _passed(episodes, k, chance)
            found[k] = proportion_estimate(list(values.values()), confidence, trials)
    return at, every


def rows_of(episodes: Iterable[EpisodeRecord], confidence: float = 0.95) -> list[Row]:
    """Return a row for each agent and environment, each level, and overall.

    A level has a row if several environments share it. With several environments there are two
    overall rows: all episodes pooled, and the mean over environments.

    Args:
        episodes: The episodes of all agents.
        confidence: Confidence level of the intervals, in (0, 1).
    """
    by_agent: dict[str, list[EpisodeRecord]] = {}
    for episode in with_task_ids(episodes):
        by_agent.setdefault(episode.agent, []).append(episode)
    return [row for agent, own in by_agent.items() for row in _agent_rows(agent, own, confidence)]


def _agent_rows(agent: str, episodes: Sequence[EpisodeRecord], confidence: float) -> list[Row]:
    envs = _by(episodes, lambda one: one.env_id)
    rows = [Row(agent, "env", name, figures_of(own, confidence)) for name, own in envs.items()]
    if len(rows) < 2:
        return rows
    levels = _by([one for one in episodes if one.level], lambda one: one.level)
    rows += [
        Row(agent, "level", name, figures_of(own, confidence))
        for name, own in levels.items()
        if len({one.env_id for one in own}) > 1
    ]
    pooled = figures_of(episodes, confidence)
    macro = _macro({row.name: row.figures for row in rows if row.scope == "env"}, envs, pooled)
    return [*rows, Row(agent, "pooled", POOLED, pooled), Row(agent, "macro", MEAN_OVER_ENVS, macro)]


def _by(
    episodes: Iterable[EpisodeRecord], key: Callable[[EpisodeRecord], str]
) -> dict[str, list[EpisodeRecord]]:
    parts: dict[str, list[EpisodeRecord]] = {}
    for episode in episodes:
        parts.setdefault(key(episode), []).append(episode)
    return dict(sorted(parts.items()))


def _macro(
    figures: Mapping[str, Figures], episodes: Mapping[str, Sequence[EpisodeRecord]], pooled: Figures
) -> Figures:
    """Return the means over environments, whose estimates are correlated if they share tasks."""
    own = list(episodes.values())
    judged = [name for name, one in figures.items() if one.success is not None]
    successes = [one for name in judged if (one := figures[name].success) is not None]
    means = {
        "mean_return": average(
            [one.mean_return for one in figures.values()], correlations(list(map(_returns, own)))
        ),
        "success": average(successes, correlations([_successes(episodes[name]) for name in judged]))
        if judged
        else None,
        "pass_at": _average_each([one.pass_at for one in figures.values()], own, pass_at),
        "pass_all": _average_each([one.pass_all for one in figures.values()], own, pass_all),
    }
    return Figures(**{**vars(pooled), **means})


def _average_each(
    estimates: Sequence[Mapping[int, Estimate]],
    episodes: Sequence[Sequence[EpisodeRecord]],
    chance: Callable[[int, int, int], float],
) -> dict[int, Estimate]:
    """Return the mean estimate of each k that all environments have."""
    averages = {}
    for k in sorted(set.intersection(*(set(one) for one in estimates))):
        values = [_passed(own, k, chance)[0] for own in episodes]
        averages[k] = average([one[k] for one in estimates], correlations(values))
    return averages


def metrics_of(episodes: Iterable[EpisodeRecord], confidence: float = 0.95) -> dict[str, Any]:
    """Return the content of ``metrics.json``.

    Args:
        episodes: The episodes of all agents.
        confidence: Confidence level of the intervals, in (0, 1).
    """
    rows = rows_of(episodes, confidence)
    return {"confidence": confidence, "rows": [row.to_dict() for row in rows]}
