"""The spec of a harness, by which a plugin offers its adapter to ``gem-core check-adapter``."""

from dataclasses import dataclass
from typing import ClassVar

from gem_core.specs import Spec

__all__ = ["HarnessSpec"]


@dataclass(frozen=True, kw_only=True)
class HarnessSpec(Spec):
    """An adapter; its entry point is a ``gem_rollout.testing.adapters.Harness``."""

    kind: ClassVar[str] = "adapter"
