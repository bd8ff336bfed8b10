"""What a comparison is made of: sides, figures, cases, trends and groups of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SIDES", "Case", "Figure", "Group", "Trend"]

SIDES = ("gem_core", "gem_llm")
"""Ours and the peer."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number that a measurement returns, compared as a ratio; above 1 is better for gem-core.

    Args:
        name: Its key in what the measurement returns.
        title: What readers see.
        lower_is_better: Of times and sizes.
        target: Smallest ratio that reaches the target.
        own_target: Smallest value of gem-core itself that does; there is no ratio then.
        own_most: Likewise, the largest value.
        reference: It is there for orientation: there is no ratio.
        mean_target: Smallest geometric mean of the cases' ratios that reaches the target.
    """

    name: str
    title: str
    lower_is_better: bool = False
    target: float | None = None
    own_target: float | None = None
    own_most: float | None = None
    reference: bool = False
    mean_target: float | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One measurement on both sides.

    Args:
        title: What readers see; unique in its group.
        arguments: Arguments of the measurement on both sides.
        ours: Arguments on gem-core's side only.
        peer: Arguments on gem-llm's side only.
        targets: Targets of this case by figure, before the figure's own.
    """

    title: str
    arguments: Mapping[str, Any]
    ours: Mapping[str, Any] = field(default_factory=dict)
    peer: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A figure of one case divided by the same figure of another, on each side for itself.

    Args:
        title: What readers see.
        figure: Name of the figure.
        of: Title of the case above the line.
        against: Title of the case below the line.
        at_least: Target for gem-core, if more is better.
        at_most: Target for gem-core, if less is better.
    """

    title: str
    figure: str
    of: str
    against: str
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Cases of one measurement.

    Args:
        name: For ``--only``.
        title: Heading.
        about: What exactly is measured, in a few sentences.
        measure: File in ``measures``.
        figures: What it returns and readers see.
        cases: On what.
        trends: Comparisons between cases.
        once: One round is enough: it counts, it does not time.
    """

    name: str
    title: str
    about: str
    measure: str
    figures: Sequence[Figure]
    cases: Sequence[Case]
    trends: Sequence[Trend] = ()
    once: bool = False
