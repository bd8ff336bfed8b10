"""The keys of ``gem-core eval``, and what is left of its limits."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import pydantic
from pydantic import Field

from gem_eval.episodes import EpisodeRecord, Measure
from gem_rollout.commands.run import RunKeys
from gem_rollout.episodes.report import Report

__all__ = ["ENDINGS", "BudgetKeys", "EvalKeys", "Spent"]


class BudgetKeys(pydantic.BaseModel):
    """Limits of the whole run. At one of them no further episode begins, and the run ends."""

    model_config = pydantic.ConfigDict(extra="forbid", use_attribute_docstrings=True)

    episodes: int | None = Field(default=None, ge=1)
    """Most episodes of the run."""
    turns: int | None = Field(default=None, ge=1)
    """Most turns of the run. Many environments limit those of an episode: env.max_turns."""
    tokens: int | None = Field(default=None, ge=1)
    """Most tokens of the run, prompts included. For those of a reply, see agent.max_tokens."""
    cost: float | None = Field(default=None, gt=0)
    """Highest cost of the run, in the unit that the agent reports."""
    seconds: float | None = Field(default=None, gt=0)
    """Longest wall time."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        """Take a number alone, as in ``budget=500``, as that of the episodes; null as no limit."""
        return {"episodes": value} if isinstance(value, int) else value or {}


class EvalKeys(RunKeys):
    """The keys of ``gem-core eval``."""

    episodes: int = Field(default=20, ge=1)
    """Tasks of each environment: rows of a dataset, each once, or start states."""
    samples: int = Field(default=1, ge=1)
    """Times that each agent plays each task."""
    seed: int = Field(default=0, ge=0)
    """Runs with the same seed have the same tasks, so that agents can be compared on them."""
    fork_groups: bool = False
    """Reset an environment once for all samples of a task and fork it, if a reset is expensive."""
    budget: BudgetKeys = Field(default_factory=BudgetKeys)
    on_error: Literal["record", "retry", "raise"] = "record"
    """After an error: record it, retry the episode in a fresh environment, or raise it."""
    retries: int = Field(default=2, ge=0)
    """Further attempts with on_error=retry."""
    turn_deadline: float | None = Field(default=None, gt=0)
    """Seconds that a turn may take."""
    episode_deadline: float | None = Field(default=None, gt=0)
    """Seconds that an episode may take."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Confidence level of the intervals."""
    until: Literal["decided"] | None = None
    """decided: compare agent=[A,B], task by task, and stop once it is known which is better."""
    against: str | None = None
    """With until=decided: compare the agent with that of RUN or RUN@AGENT, on the same tasks."""
    measure: Measure = "success"
    """With until=decided: compare success or return."""
    difference: float = Field(default=0.05, gt=0, lt=1)
    """With until=decided: smallest difference that matters, as a share of the possible range."""

    @pydantic.model_validator(mode="after")
    def _check_until(self) -> Self:
        if self.until is None:
            if self.against is not None:
                raise ValueError("against needs until=decided.")
            return self
        if not self.budget.model_dump(exclude_none=True):
            raise ValueError(
                "until=decided needs a budget, such as budget=2000: the most episodes to play."
            )
        return self


ENDINGS = {
    "interrupted": "Interrupted. The finished episodes are kept.",
    **{
        name: f"The limit budget.{name} leaves no room for another episode."
        for name in BudgetKeys.model_fields
    },
}
"""What is said of a run that ended early without an error."""


@dataclass
class Spent:
    """The part of the limits that episodes have used up."""

    limits: Mapping[str, float]
    started: float = field(default_factory=time.monotonic)
    used: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("episodes", "turns", "tokens", "cost"), 0.0)
    )
    ended_by: str = ""
    """The limit that has ended a rollout."""

    def add(self, episode: EpisodeRecord) -> None:
        """Add an episode of an earlier run."""
        self.used["episodes"] += 1
        self.used["turns"] += episode.turns
        self.used["tokens"] += (episode.prompt_tokens or 0) + (episode.completion_tokens or 0)
        self.used["cost"] += episode.cost or 0.0

    def add_rollout(self, report: Report) -> None:
        """Add the episodes of a rollout that has ended, failed attempts and judges included."""
        total = report.total
        self.used["episodes"] += report.begun
        self.used["turns"] += total.turns
        self.used["tokens"] += total.tokens
        self.used["cost"] += total.cost
        if report.ended_by in self.limits:
            self.ended_by = report.ended_by

    def left(self) -> dict[str, float]:
        """Return the rest of each limit, 0 or more."""
        used = {**self.used, "seconds": time.monotonic() - self.started}
        return {name: max(0.0, limit - used[name]) for name, limit in self.limits.items()}

    def counts(self) -> bool:
        """Return whether a limit will be reached: the agents report tokens and cost, or not."""
        return any(self.used.get(name, 1.0) for name in self.limits)

    def reached(self) -> str:
        """Return the name of a limit that is reached, or an empty text."""
        return self.ended_by or next((name for name, left in self.left().items() if not left), "")
