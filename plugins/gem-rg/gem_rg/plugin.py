"""The registration of the family ``rg``. Nothing here imports reasoning_gym."""

from gem_core import hookimpl
from gem_core.registry import Registry
from gem_core.specs import FAMILIES, Spec

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the family of the tasks of reasoning-gym."""
    registry.add(
        Spec(
            kind=FAMILIES,
            id="rg",
            entry_point="gem_rg.family:ReasoningGymFamily",
            description="every task of reasoning-gym, as rg:<name>",
        )
    )
