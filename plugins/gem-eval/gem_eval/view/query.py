"""Queries of the page: filters, order and position in the table of episodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from gem_core.errors import ConfigError

__all__ = ["OUTCOMES", "SORTS", "EpisodeQuery"]

OUTCOMES = ("success", "failed", "unscored", "error")
SORTS = {
    "number": "number",
    "env": "env_id",
    "agent": "agent",
    "outcome": "outcome",
    "cause": "cause",
    "return": '"return"',
    "turns": "turns",
    "tools": "tool_calls",
    "tokens": "coalesce(completion_tokens, 0)",
    "seconds": "seconds",
    "index": '"index"',
}
"""The keys to sort by, with their SQL."""

_LARGEST_PAGE = 500
_EVALUATION = {"": None, "0": False, "1": True}


@dataclass(frozen=True)
class EpisodeQuery:
    """A query for episodes.

    Args:
        env: Id of the environment; empty for all.
        series: Number of the series (an agent of a run); None for all.
        source: Number of the run that the viewer was given; None for all.
        step: Training step of the episode or of the evaluation; None for all.
        evaluation: Whether the episode is of an evaluation of a training run; None for all.
        outcome: One of ``OUTCOMES``; empty for all.
        low: Smallest return.
        high: Largest return.
        text: A text that an observation or action must contain, in any case.
        sort: One of ``SORTS``.
        descending: Whether the largest comes first.
        offset: The number of episodes to skip.
        limit: The largest number of episodes to return, 1 to 500.
    """

    env: str = ""
    series: int | None = None
    source: int | None = None
    step: int | None = None
    evaluation: bool | None = None
    outcome: str = ""
    low: float | None = None
    high: float | None = None
    text: str = ""
    sort: str = "number"
    descending: bool = False
    offset: int = 0
    limit: int = 50

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Return the query of a URL's parameters.

        Raises:
            ConfigError: A value is out of its range.
        """
        outcome, sort = given.get("outcome", ""), given.get("sort", "") or "number"
        _check("outcome", outcome, ("", *OUTCOMES))
        _check("sort", sort, tuple(SORTS))
        evaluation = given.get("evaluation", "")
        _check("evaluation", evaluation, tuple(_EVALUATION))
        limit = _whole(given, "limit", 50)
        if not 1 <= limit <= _LARGEST_PAGE:
            raise ConfigError(f"limit must be 1 to {_LARGEST_PAGE}; got {limit}.")
        return cls(
            env=given.get("env", ""),
            series=_whole(given, "series", None),
            source=_whole(given, "source", None),
            step=_whole(given, "step", None),
            evaluation=_EVALUATION[evaluation],
            outcome=outcome,
            low=_real(given, "low"),
            high=_real(given, "high"),
            text=given.get("q", ""),
            sort=sort,
            descending=given.get("desc", "") == "1",
            offset=_whole(given, "offset", 0),
            limit=limit,
        )

    def where(self) -> tuple[str, list[Any]]:
        """Return the condition as SQL, and its parameters."""
        conditions: list[tuple[str, Any]] = []
        if self.env:
            conditions.append(("env_id = ?", self.env))
        places = ("series", "source", "step", "evaluation")
        known = {name: value for name in places if (value := getattr(self, name)) is not None}
        conditions += [(f"{name} = ?", value) for name, value in known.items()]
        if self.outcome:
            conditions.append(("outcome = ?", self.outcome))
        if self.low is not None:
            conditions.append(('"return" >= ?', self.low))
        if self.high is not None:
            conditions.append(('"return" <= ?', self.high))
        if self.text:
            conditions.append(("contains(text, ?)", self.text.lower()))
        if not conditions:
            return "true", []
        return " AND ".join(sql for sql, _ in conditions), [value for _, value in conditions]

    def order(self) -> str:
        """Return the total order as SQL, so that pages do not overlap."""
        direction = "DESC" if self.descending else "ASC"
        return f"{SORTS[self.sort]} {direction} NULLS LAST, run {direction}, number {direction}"


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(
            f"{name} must be one of {', '.join(filter(None, allowed))}; got {value!r}."
        )


def _whole(given: Mapping[str, str], name: str, default: Any) -> Any:
    text = given.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise ConfigError(f"{name} must be an integer of 0 or more; got {text!r}.")
    return int(text)


def _real(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name, "")
    try:
        return float(text) if text else None
    except ValueError as error:
        raise ConfigError(f"{name} must be a number; got {text!r}.") from error
