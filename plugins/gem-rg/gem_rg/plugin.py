"""The registration of the family ``rg``. Nothing here imports reasoning_gym."""

from gem_core import FamilySpec, hookimpl
from gem_core.registry import Registry

__all__ = ["gem_register"]


@hookimpl
def gem_register(registry: Registry) -> None:
    """Register the family of the tasks of reasoning-gym."""
    registry.add(
        FamilySpec(
            id="rg",
            entry_point="gem_rg.family:ReasoningGymFamily",
            description="every task of reasoning-gym, as rg:<name>",
        )
    )
