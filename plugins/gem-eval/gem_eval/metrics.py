"""Figures of a run: per environment, per level, overall, for each agent.

An episode that ended with an error counts as a failure, with the return that it had reached;
``success_without_errors`` leaves such episodes out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_eval.episodes import Episode, tasks_of
from gem_eval.statistics import (
    Estimate,
    average,
    mean_estimate,
    pass_all,
    pass_at,
    proportion_estimate,
)

__all__ = ["Figures", "Row", "figures_of", "metrics_of", "rows_of"]

POOLED = "all episodes"
MEAN_OVER_ENVS = "mean over environments"
LATENCIES = ("model", "queue", "agent", "env", "tool", "setup")


@dataclass(frozen=True)
class Figures:
    """Figures of a set of episodes.

    Args:
        episodes: Number of episodes.
        tasks: Number of different start states.
        mean_return: Mean return, with a standard error clustered by task.
        success: Success rate, in [0, 1]; None if no environment defines success.
        success_without_errors: Success rate of the episodes without an error.
        pass_at: pass@k by k: mean over the tasks with at least k episodes.
        pass_all: pass^k by k: mean over the tasks with at least k episodes.
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


def figures_of(episodes: Sequence[Episode], confidence: float = 0.95) -> Figures:
    """Return the figures of one or more episodes.

    Args:
        episodes: The episodes.
        confidence: Confidence level of the intervals, in (0, 1).
    """
    tasks = list(tasks_of(episodes).values())
    judged = [kept for task in tasks if (kept := [one for one in task if one.success is not None])]
    sound = [bool(one.success) for task in judged for one in task if not one.boundary]
    turns = sum(one.turns for one in episodes)
    calls = sum(one.tool_calls for one in episodes)
    durations = sorted(one.seconds for one in episodes)
    costs = [one.cost for one in episodes if one.cost is not None]
    at, every = _passes(judged, confidence)
    return Figures(
        episodes=len(episodes),
        tasks=len(tasks),
        mean_return=mean_estimate([[e.episode_return for e in t] for t in tasks], confidence),
        success=proportion_estimate(
            [[float(e.success or 0) for e in t] for t in judged], confidence
        )
        if judged
        else None,
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
        errors=dict(Counter(one.boundary for one in episodes if one.boundary)),
        stragglers=sum(one.error == "DeadlineError" for one in episodes),
        repeats=sum(one.repeats for one in episodes),
    )


def _mean(episodes: Sequence[Episode], of: Callable[[Episode], float | None]) -> float | None:
    known = [value for one in episodes if (value := of(one)) is not None]
    return sum(known) / len(known) if known else None


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the nearest-rank quantile of sorted values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _passes(
    tasks: Sequence[Sequence[Episode]], confidence: float
) -> tuple[dict[int, Estimate], dict[int, Estimate]]:
    """Return pass@k and pass^k for k = 1, 2, 4, ... and the largest k; empty if that is 1."""
    counts = [(len(task), sum(bool(one.success) for one in task)) for task in tasks]
    largest = max((n for n, _ in counts), default=0)
    ks = sorted(
        {k for k in (2**i for i in range(largest.bit_length())) if k <= largest} | {largest}
    )
    at, every = {}, {}
    for k in ks if largest > 1 else []:
        enough = [(n, c) for n, c in counts if n >= k]
        trials = sum(n for n, _ in enough)
        at[k] = proportion_estimate([[pass_at(n, c, k)] for n, c in enough], confidence, trials)
        every[k] = proportion_estimate([[pass_all(n, c, k)] for n, c in enough], confidence, trials)
    return at, every


def rows_of(episodes: Iterable[Episode], confidence: float = 0.95) -> list[Row]:
    """Return a row for each agent and environment, each level, and overall.

    A level has a row if several environments share it. With several environments there are two
    overall rows: all episodes pooled, and the mean over environments.

    Args:
        episodes: The episodes of all agents.
        confidence: Confidence level of the intervals, in (0, 1).
    """
    by_agent: dict[str, list[Episode]] = {}
    for episode in episodes:
        by_agent.setdefault(episode.agent, []).append(episode)
    return [row for agent, own in by_agent.items() for row in _agent_rows(agent, own, confidence)]


def _agent_rows(agent: str, episodes: Sequence[Episode], confidence: float) -> list[Row]:
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
    macro = _macro([row.figures for row in rows if row.scope == "env"], pooled)
    return [*rows, Row(agent, "pooled", POOLED, pooled), Row(agent, "macro", MEAN_OVER_ENVS, macro)]


def _by(episodes: Iterable[Episode], key: Callable[[Episode], str]) -> dict[str, list[Episode]]:
    parts: dict[str, list[Episode]] = {}
    for episode in episodes:
        parts.setdefault(key(episode), []).append(episode)
    return dict(sorted(parts.items()))


def _macro(envs: Sequence[Figures], pooled: Figures) -> Figures:
    successes = [one.success for one in envs if one.success is not None]
    means = {
        "mean_return": average([one.mean_return for one in envs]),
        "success": average(successes) if successes else None,
        "pass_at": _average_each([one.pass_at for one in envs]),
        "pass_all": _average_each([one.pass_all for one in envs]),
    }
    return Figures(**{**vars(pooled), **means})


def _average_each(estimates: Sequence[Mapping[int, Estimate]]) -> dict[int, Estimate]:
    """Return the mean estimate of each k that all environments have."""
    shared = set.intersection(*(set(one) for one in estimates))
    return {k: average([one[k] for one in estimates]) for k in sorted(shared)}


def metrics_of(episodes: Iterable[Episode], confidence: float = 0.95) -> dict[str, Any]:
    """Return the content of ``metrics.json``.

    Args:
        episodes: The episodes of all agents.
        confidence: Confidence level of the intervals, in (0, 1).
    """
    rows = rows_of(episodes, confidence)
    return {"confidence": confidence, "rows": [row.to_dict() for row in rows]}
