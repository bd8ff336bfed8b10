"""Declared policies of a run: errors, deadlines, budgets."""

from dataclasses import dataclass, fields
from typing import Literal

from gem_core.errors import ConfigError

__all__ = ["Budget", "FaultPolicy"]


@dataclass(frozen=True, kw_only=True)
class FaultPolicy:
    """How a run handles episodes that fail or take too long.

    Args:
        on_error: ``record``: the trajectory keeps the error and the run goes on. ``retry``: the
            episode is played again with a new environment and a new agent; ``failures`` has the
            errors of failed attempts, and ``error`` the last one if no attempt succeeds.
            ``raise``: the run raises the error after the trajectories that have ended.
        retries: Most repetitions of an episode under ``retry``.
        min_group: Fewest episodes of a group that must end without an error; the report counts
            other groups as dropped, but still yields their trajectories. None to drop no groups.
        turn_deadline: Most seconds for a turn, agent and environment together; None for no limit.
        episode_deadline: Most seconds for one attempt at an episode, including its reset; None for
            no limit.
        abort_after: The run raises ``ModelUnavailableError`` after so many episodes in a row that
            ended with one; None to go on.

    Raises:
        ConfigError: A value is unknown or out of range.
    """

    on_error: Literal["record", "retry", "raise"] = "record"
    retries: int = 2
    min_group: int | None = None
    turn_deadline: float | None = None
    episode_deadline: float | None = None
    abort_after: int | None = None

    def __post_init__(self) -> None:
        if self.on_error not in {"record", "retry", "raise"}:
            raise ConfigError(f"on_error is record, retry or raise; got {self.on_error!r}.")
        if self.retries < 0:
            raise ConfigError(f"retries must be 0 or more; got {self.retries}.")
        for name in ("min_group", "turn_deadline", "episode_deadline", "abort_after"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be positive, or None; got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits of a run. When one is reached no more episodes begin; those in flight go on.

    Turns, tokens and cost are reserved: an episode waits if the limit might be exceeded, where each
    one in flight and the new one are expected to use what those of their environment used on
    average, failed attempts included. If that is too much although none is in flight, the run ends.
    So a run exceeds a limit by no more than its episodes in flight use beyond the average. Before
    any has ended, the first one begins alone, and others after a turn of it if ten times as much is
    left for each.

    Args:
        episodes: Most episodes that begin; None for no limit, here and below.
        turns: Most turns.
        tokens: Most tokens of prompts and completions, as counted by the endpoint.
        cost: Highest cost, in the currency of the agent's prices.
        seconds: Longest wall time of the run.

    Raises:
        ConfigError: A value is negative.
    """

    episodes: int | None = None
    turns: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not value >= 0:
                raise ConfigError(
                    f"The budget of {field.name} must be 0 or more, or None; got {value!r}."
                )
