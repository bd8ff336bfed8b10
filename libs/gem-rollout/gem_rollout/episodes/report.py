"""The counts of a run, updated while it runs; every dropped episode is counted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_rollout.episodes.policy import Budget
from gem_rollout.records.trajectory import Trajectory, Turn

__all__ = ["EnvReport", "Report"]


@dataclass
class EnvReport:
    """The counts of one environment.

    Args:
        episodes: Episodes that ended, with or without an error.
        errors: Episodes that ended with an error, by boundary.
        stragglers: Episodes that missed a deadline.
        retries: Failed attempts that were repeated.
        cancelled: Episodes that were in flight when the run was ended; they are not yielded.
        abandoned: Threads that were abandoned in a step that went on after its deadline.
        missing_logprobs: Sampled tokens without a log-probability in replies whose other tokens
            have one. They are not trained on.
        dropped_groups: Groups with fewer good episodes than ``FaultPolicy.min_group``.
        turns: Turns, including those of failed attempts.
        prompt_tokens: Tokens of prompts, including failed attempts; 0 if agents do not report them.
        completion_tokens: Sampled tokens, counted in the same way.
        cost: Cost, counted in the same way. Tokens and cost include those in ``info["spent"]``,
            such as a judge's.
    """

    episodes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    stragglers: int = 0
    retries: int = 0
    cancelled: int = 0
    abandoned: int = 0
    missing_logprobs: int = 0
    dropped_groups: int = 0
    turns: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions."""
        return self.prompt_tokens + self.completion_tokens

    def spend(self, trajectory: Trajectory) -> None:
        """Count the turns, tokens and cost of an attempt, those of judges included."""
        self.spend_turns(trajectory.turns)
        if trajectory.error is not None and "spent" in trajectory.error:
            self._add_spent(trajectory.error["spent"])

    def spend_turns(self, turns: Iterable[Turn]) -> None:
        """Count turns, and their tokens and cost."""
        for turn in turns:
            self.turns += 1
            if "spent" in turn.info:
                self._add_spent(turn.info["spent"])
            generation = turn.generation
            if generation is None:
                continue
            sampled = generation.completion_tokens
            if sampled is None:
                sampled = len(generation.token_ids or ())
            self.completion_tokens += sampled
            self.missing_logprobs += (generation.logprobs or []).count(None)
            self.prompt_tokens += generation.prompt_tokens or 0
            self.cost += generation.cost or 0.0

    def _add_spent(self, spent: Mapping[str, float]) -> None:
        """Add the tokens and the cost of an environment's models, from ``info["spent"]``."""
        self.prompt_tokens += int(spent.get("prompt_tokens", 0))
        self.completion_tokens += int(spent.get("completion_tokens", 0))
        self.cost += spent.get("cost", 0.0)

    def add(self, other: "EnvReport") -> None:
        """Add the counts of another environment."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as plain data."""
        return {**vars(self), "errors": dict(self.errors)}


@dataclass
class Report:
    """The counts of a run, always up to date.

    Args:
        envs: The counts by name of the component, or by id of the environment if there is only one.
        begun: Episodes that have begun.
        in_flight: Episodes in progress.
        ended_by: Why the run ended: ``""`` while it goes on, ``done``, ``interrupted`` (Ctrl-C or
            ``close``), ``error``, or the limit of the budget that was reached (``episodes``,
            ``turns``, ``tokens``, ``cost``, ``seconds``).
        task_counts: The number of different tasks of each environment that says so with an
            attribute ``task_count``, such as the number of rows of a dataset; names as in ``envs``.
    """

    envs: dict[str, EnvReport] = field(default_factory=dict)
    begun: int = 0
    in_flight: int = 0
    ended_by: str = ""
    task_counts: dict[str, int] = field(default_factory=dict)

    def repeats(self, name: str, groups: int) -> str:
        """Return a warning if an environment has fewer tasks than groups are played; else "".

        Args:
            name: Name of the environment, as in ``envs``.
            groups: The number of groups of the run.
        """
        count = self.task_counts.get(name, groups)
        if count >= groups:
            return ""
        return (
            f"{name} has {count:,} tasks, fewer than the {groups:,} that were asked for. After the "
            f"last one they are played again in another order: these are further samples of the "
            f"same tasks, not more tasks."
        )

    def env(self, name: str) -> EnvReport:
        """Return the counts of an environment; new ones at its first episode."""
        if name not in self.envs:
            self.envs[name] = EnvReport()
        return self.envs[name]

    @property
    def total(self) -> EnvReport:
        """The counts of all environments together."""
        total = EnvReport()
        for report in self.envs.values():
            total.add(report)
        return total

    def spent(self, budget: Budget, seconds: float) -> str:
        """Return the limit of a budget that was reached; empty if there is none.

        Args:
            budget: The budget.
            seconds: Wall time since the run began.
        """
        total = self.total
        used: Mapping[str, float] = {
            "episodes": self.begun,
            "turns": total.turns,
            "tokens": total.tokens,
            "cost": total.cost,
            "seconds": seconds,
        }
        for name, value in used.items():
            limit = getattr(budget, name)
            if limit is not None and value >= limit:
                return name
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {**vars(self), "envs": {name: env.to_dict() for name, env in self.envs.items()}}
