"""The options of the agent loop, from its YAML and from ``gem`` in verl's configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from gem_core.errors import ConfigError
from gem_core.specs import check_kwargs
from gem_rollout import FaultPolicy

__all__ = ["LoopOptions"]


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """How the agent loop plays a row.

    Raises:
        ConfigError: A value is unknown or out of range.
    """

    config: list[str] | dict[str, Any] = field(default_factory=list)
    """Overrides that choose tools and wrappers, and name environments: ``["tools=[python]"]``; or
    what they choose."""
    reward: Literal["sum", "discounted", "last"] = "sum"
    """How the rewards of the turns become the row's score."""
    gamma: float = 1.0
    """Discount for each turn under ``discounted``, in [0, 1]."""
    one_sequence: Literal["raise", "last"] = "raise"
    """What to do with an episode whose prompts do not extend each other: raise ``SequenceError``,
    or train on its last sequence."""
    system: str | None = None
    """The system message."""
    stop: list[str] = field(default_factory=list)
    """Strings that end a reply."""
    turn_tokens: int | None = None
    """Most tokens of one reply; None for the rest of ``response_length``."""
    on_error: Literal["record", "retry", "raise"] = "record"
    """What a fault becomes: a masked row, a masked row after ``retries``, or the end of the run."""
    retries: int = 2
    """Most repetitions of an episode under ``retry``."""
    turn_deadline: float | None = 1800.0
    """Most seconds of a turn, the engine's included; None for no limit."""
    episode_deadline: float | None = None
    """Most seconds of an episode; None for no limit."""

    def __post_init__(self) -> None:
        for name, known in (
            ("reward", ("sum", "discounted", "last")),
            ("one_sequence", ("raise", "last")),
        ):
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name} must be one of {', '.join(known)}, as verl trains on one row with one "
                    f"score for each prompt; got {getattr(self, name)!r}."
                )
        if not 0 <= self.gamma <= 1:
            raise ConfigError(f"gamma must be in [0, 1]; got {self.gamma!r}.")
        if isinstance(self.config, str):
            raise ConfigError(f"config is a list of overrides; got {self.config!r}.")
        self.policy()

    @classmethod
    def of(cls, *mappings: Mapping[str, Any] | None) -> Self:
        """Return the options of some mappings; later ones replace earlier ones.

        Raises:
            ConfigError: An option is unknown or invalid.
        """
        options: dict[str, Any] = {}
        for mapping in mappings:
            options |= dict(mapping or {})
        check_kwargs(cls, options, "GemAgentLoop")
        return cls(**options)

    def policy(self) -> FaultPolicy:
        """Return the policy for faults."""
        names = {field.name for field in fields(FaultPolicy)}
        return FaultPolicy(**{name: getattr(self, name) for name in names if hasattr(self, name)})
