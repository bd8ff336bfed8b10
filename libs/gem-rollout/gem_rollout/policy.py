"""What a run does about faults and stragglers, and when it ends: declared, not scattered."""

from dataclasses import dataclass, fields
from typing import Literal

from gem_core.errors import ConfigError

__all__ = ["Budget", "FaultPolicy"]


@dataclass(frozen=True, kw_only=True)
class FaultPolicy:
    """What becomes of an episode that fails, or that takes too long.

    Args:
        on_error: ``record``: the trajectory keeps the error, and the run goes on. ``retry``: the
            episode is played again with a new environment and a new agent; what failed is kept in
            ``failures``, and the last error in ``error`` if no attempt succeeds. ``raise``: the
            run ends with the error, after the trajectories that have ended.
        retries: How often an episode is repeated at most, with ``retry``.
        min_group: How many episodes of a group must end without an error for the group to be of
            use; the report counts the others as dropped. Their trajectories are yielded all the
            same. None to count none.
        turn_deadline: Seconds for one turn, the agent's part and the environment's together; None
            for no limit.
        episode_deadline: Seconds for one attempt at an episode, from its reset on; None likewise.

    Raises:
        ConfigError: A value that cannot work.
    """

    on_error: Literal["record", "retry", "raise"] = "record"
    retries: int = 2
    min_group: int | None = None
    turn_deadline: float | None = None
    episode_deadline: float | None = None

    def __post_init__(self) -> None:
        if self.on_error not in {"record", "retry", "raise"}:
            raise ConfigError(f"on_error is record, retry or raise; got {self.on_error!r}.")
        if self.retries < 0:
            raise ConfigError(f"retries must be 0 or more; got {self.retries}.")
        for name in ("min_group", "turn_deadline", "episode_deadline"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be positive, or None; got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a run may use. Once it is spent no episode begins; those in flight go on to the end.

    Turns, tokens and cost are counted when an attempt at an episode ends, failed ones too.

    Args:
        episodes: Episodes that begin; None for no limit, here and below.
        turns: Turns.
        tokens: Tokens of prompts and samples, as the endpoint counts them.
        cost: Cost, in the currency of the agent's prices.
        seconds: Wall time of the run.

    Raises:
        ConfigError: A value that is negative.
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
