"""Put a zygote behind the walls of its tier, and say which walls its runs get."""

from typing import Any

from gem_sandbox.warm.inside import jail, kernel
from gem_sandbox.warm.inside.confined import ConfinedWalls
from gem_sandbox.warm.inside.walls import NamespaceWalls, Walls

__all__ = ["enter_tier"]


def enter_tier(plan: dict[str, Any]) -> Walls:
    """Put this process, a zygote, behind its walls; return those for its runs."""
    kernel.no_new_privileges()
    if plan["tier"] == "confined":
        return ConfinedWalls(plan)
    if plan["tier"] == "namespaces":
        jail.enter_jail(plan)
    elif plan["as_root"]:
        jail.mount_processes()
    if plan["as_root"]:
        jail.become_nobody(plan["nobody"])
    kernel.take([kernel.dropping_capabilities()])
    return NamespaceWalls(plan)
