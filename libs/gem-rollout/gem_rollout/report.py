"""What became of a run, counted as it goes: nothing is dropped without being counted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_rollout.policy import Budget
from gem_rollout.trajectory import Trajectory

__all__ = ["EnvReport", "Report"]


@dataclass
class EnvReport:
    """Counts of one environment.

    Args:
        episodes: Episodes that ended, with an error or without.
        errors: Of these, those that ended with an error, by boundary.
        stragglers: Of these, those that a deadline ended.
        retries: Attempts that failed and were repeated.
        cancelled: Episodes that had begun when the run was ended, and are not in the stream.
        abandoned: Threads that were left behind in a step that went on after its deadline.
        dropped_groups: Groups with fewer good episodes than ``FaultPolicy.min_group`` asks for.
        turns: Turns, those of failed attempts included.
        prompt_tokens: Tokens of prompts, likewise; 0 where agents do not tell.
        completion_tokens: Tokens sampled, likewise.
        cost: Cost, likewise.
    """

    episodes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    stragglers: int = 0
    retries: int = 0
    cancelled: int = 0
    abandoned: int = 0
    dropped_groups: int = 0
    turns: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and samples."""
        return self.prompt_tokens + self.completion_tokens

    def spend(self, trajectory: Trajectory) -> None:
        """Count what an attempt used."""
        self.turns += len(trajectory.turns)
        for turn in trajectory.turns:
            generation = turn.generation
            if generation is None:
                continue
            sampled = generation.completion_tokens
            if sampled is None:
                sampled = len(generation.token_ids or ())
            self.completion_tokens += sampled
            self.prompt_tokens += generation.prompt_tokens or 0
            self.cost += generation.cost or 0.0

    def add(self, other: "EnvReport") -> None:
        """Add the counts of another environment."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def to_dict(self) -> dict[str, Any]:
        """Return all counts as plain data."""
        return {**vars(self), "errors": dict(self.errors)}


@dataclass
class Report:
    """Counts of a run, up to date whenever it is read.

    Args:
        envs: By the name of the source, or the id of the environment if there is only one.
        begun: Episodes that have begun.
        in_flight: Episodes that are under way.
        ended_by: What ended the run: ``""`` while it goes on, ``done``, ``interrupted`` (Ctrl-C,
            or left early), ``error``, or the part of the budget that is spent (``episodes``,
            ``turns``, ``tokens``, ``cost``, ``seconds``).
    """

    envs: dict[str, EnvReport] = field(default_factory=dict)
    begun: int = 0
    in_flight: int = 0
    ended_by: str = ""

    def env(self, name: str) -> EnvReport:
        """Return the counts of an environment, which begin with its first episode."""
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
        """Return which part of a budget is spent; empty if none is.

        Args:
            budget: The budget.
            seconds: Since the run began.
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
