"""Isolate a zygote as its tier says, and choose the isolation of its runs."""

from typing import Any

from gem_sandbox.warm.guest import jail, kernel
from gem_sandbox.warm.guest.confined import ConfinedIsolation
from gem_sandbox.warm.guest.isolation import Isolation, NamespaceIsolation

__all__ = ["enter_tier"]


def enter_tier(plan: dict[str, Any]) -> Isolation:
    """Isolate this process, a zygote; return the isolation of its runs."""
    kernel.no_new_privileges()
    if plan["tier"] == "confined":
        return ConfinedIsolation(plan)
    if plan["tier"] == "namespaces":
        jail.enter_jail(plan)
    elif plan["as_root"]:
        jail.mount_processes()
    if plan["as_root"]:
        jail.become_nobody(plan["nobody"])
    kernel.take([kernel.dropping_capabilities()])
    return NamespaceIsolation(plan)
