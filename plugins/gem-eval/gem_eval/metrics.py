"""Figures of a run: per environment, per level, overall, for each agent.

An episode that ended in an error counts as one without success, with the return that it had come
to; ``success_without_errors`` leaves such episodes out.
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
        episodes: How many.
        tasks: How many different start states.
        mean_return: Mean return; its error is robust to episodes of one task being alike.
        success: Share of episodes that succeeded; None if no environment says what success is.
        success_without_errors: The share among episodes that no error ended.
        pass_at: pass@k by k: mean over the tasks that have k episodes.
        pass_all: pass^k by k, likewise.
        turns: Turns of an episode, mean.
        truncated: Share of episodes that were cut by a limit.
        prompt_tokens: Tokens that the model was given, mean of an episode; None if unknown.
        completion_tokens: Tokens that it sampled, likewise.
        total_tokens: Both, over all episodes.
        cost: Over all episodes; None if unknown.
        tool_calls: Calls of tools, mean of an episode.
        tool_success: Share of the calls that succeeded; None without calls.
        format_errors: Share of turns whose action was not of the form asked for.
        cut_replies: Share of turns in which the model ran into its limit of tokens.
        seconds: Wall time of an episode, mean, by where it went.
        seconds_p50: Median wall time of an episode.
        seconds_p95: 95th percentile of it.
        errors: Episodes that ended in an error, by boundary.
        stragglers: Episodes that a deadline ended.
        repeats: Attempts that failed and were repeated.
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
    """Figures, and what they are of.

    Args:
        agent: Name of the agent.
        scope: ``env``, ``level``, ``pooled`` or ``macro``.
        name: The environment's id, the level, or a name for the whole.
        figures: The figures. Of the scope ``macro`` the return, the success and pass@k are means
            over environments, each of the same weight; the rest is that of all episodes.
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
    """Return the figures of episodes, of which there is at least one.

    Args:
        episodes: The episodes.
        confidence: Of the intervals, in (0, 1).
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
    """Return the nearest-rank quantile of values in order."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _passes(
    tasks: Sequence[Sequence[Episode]], confidence: float
) -> tuple[dict[int, Estimate], dict[int, Estimate]]:
    """Return pass@k and pass^k for k of 1, 2, 4, ... and the largest; nothing for single ones."""
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

    A level has a row if several environments have it. Overall there are two rows if there are
    several environments: all episodes pooled, and the mean over environments.

    Args:
        episodes: The episodes of all agents.
        confidence: Of the intervals, in (0, 1).
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
    """Average the estimates of each k that all environments have."""
    shared = set.intersection(*(set(one) for one in estimates))
    return {k: average([one[k] for one in estimates]) for k in sorted(shared)}


def metrics_of(episodes: Iterable[Episode], confidence: float = 0.95) -> dict[str, Any]:
    """Return what ``metrics.json`` holds.

    Args:
        episodes: The episodes of all agents.
        confidence: Of the intervals, in (0, 1).
    """
    rows = rows_of(episodes, confidence)
    return {"confidence": confidence, "rows": [row.to_dict() for row in rows]}
