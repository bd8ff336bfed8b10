"""What this plugin registers. Nothing here imports torch."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import Spec
from gem_train.specs import ALGORITHMS, LOSSES

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Add the algorithms and their losses."""
    registry.add(
        Spec(
            kind=ALGORITHMS,
            id="cispo",
            entry_point="acme_rl.cispo:CISPO",
            description="GRPO's advantages with CISPO's loss",
        ),
        Spec(
            kind=LOSSES,
            id="cispo",
            entry_point="acme_rl.cispo:CISPOLoss",
            description="log-probabilities, weighted by clipped ratios",
        ),
        Spec(
            kind=ALGORITHMS,
            id="gspo",
            entry_point="acme_rl.gspo:GSPO",
            description="GRPO's advantages with GSPO's loss",
        ),
        Spec(
            kind=LOSSES,
            id="gspo",
            entry_point="acme_rl.gspo:GSPOLoss",
            description="ratios of whole sequences, clipped",
        ),
    )
