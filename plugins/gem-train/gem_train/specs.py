"""The kinds of specs of training: algorithms, losses, curricula, filters, shapers and writers.

Our own and those of other plugins are registered in the same way. An entry point is called with the
configured parameters and returns the object. Where an id is expected, ``module:NAME`` works too.
Plugins import this module when they are loaded, so it imports nothing heavy.
"""

from dataclasses import dataclass
from typing import ClassVar

from gem_core.specs import Spec

__all__ = [
    "AlgorithmSpec",
    "CurriculumSpec",
    "EpisodeFilterSpec",
    "LossSpec",
    "MetricWriterSpec",
    "RewardShaperSpec",
]


@dataclass(frozen=True, kw_only=True)
class AlgorithmSpec(Spec):
    """An algorithm; its entry point returns a ``gem_train.algorithm.Algorithm``."""

    kind: ClassVar[str] = "algorithm"
    by_entry_point: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class LossSpec(Spec):
    """A loss; its entry point returns a ``gem_train.loss.Loss``."""

    kind: ClassVar[str] = "loss"
    by_entry_point: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class CurriculumSpec(Spec):
    """A curriculum; its entry point takes the sources and returns a ``Curriculum``."""

    kind: ClassVar[str] = "curriculum"
    by_entry_point: ClassVar[bool] = True
    given: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class EpisodeFilterSpec(Spec):
    """An episode filter; its entry point returns a ``gem_train.filters.EpisodeFilter``."""

    kind: ClassVar[str] = "filter"
    by_entry_point: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class RewardShaperSpec(Spec):
    """A reward shaper; its entry point returns a ``gem_train.shapers.RewardShaper``."""

    kind: ClassVar[str] = "shaper"
    by_entry_point: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class MetricWriterSpec(Spec):
    """A metric writer; its entry point returns a ``gem_train.metrics.Writer``.

    The entry point takes ``(folder, run_name, config, resume_step)``, then its parameters.

    Args:
        id: Its name.
        package: A package that it needs and that may be missing; empty for none.
    """

    kind: ClassVar[str] = "writer"
    by_entry_point: ClassVar[bool] = True
    given: ClassVar[int] = 4

    package: str = ""
