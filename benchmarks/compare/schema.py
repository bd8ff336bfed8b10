"""A comparison as data: sides, figures, cases, and groups of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SIDES", "Case", "Figure", "Group"]

SIDES = ("gem_core", "gem_llm")
"""Our side and the peer's."""


@dataclass(frozen=True)
class Figure:
    """A number that a measurement returns.

    Args:
        name: Its key in the result of the measurement.
        title: Heading of its table.
        compare: ``higher`` or ``lower`` is better; empty for a figure without a ratio.
    """

    name: str
    title: str
    compare: str = "higher"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One measurement on both sides.

    Args:
        title: First column of its row; unique in its group.
        arguments: Arguments of the measurement on both sides.
        ours: Arguments for gem-core only.
        peer: Arguments for gem-llm only.
    """

    title: str
    arguments: Mapping[str, Any]
    ours: Mapping[str, Any] = field(default_factory=dict)
    peer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Cases of one measurement.

    Args:
        name: Name for ``--only``.
        title: Heading.
        about: What exactly is measured, in a few sentences.
        measure: File in ``measures``.
        figures: Figures that the tables show.
        cases: The cases.
        once: One round is enough, because the measurement counts and does not time.
    """

    name: str
    title: str
    about: str
    measure: str
    figures: Sequence[Figure]
    cases: Sequence[Case]
    once: bool = False
