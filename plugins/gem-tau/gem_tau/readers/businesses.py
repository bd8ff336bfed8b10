"""The domains whose task folders can be read, and why others cannot."""

from collections.abc import Collection
from dataclasses import dataclass

from gem_core.specs import load_entry_point
from gem_tau.toolkit import Toolkit

__all__ = ["AIRLINE", "REFUSED", "RETAIL", "Business"]

REFUSED = {
    "telecom": "its users have tools of their own",
    "telecom-workflow": "its users have tools of their own",
    "banking_knowledge": "its assistant searches documents, which are not part of a task",
    "mock": "its tools are those of a test",
}
"""Domains of tau2-bench that cannot be played here, each with the reason."""


@dataclass(frozen=True)
class Business:
    """A domain whose task folders can be read.

    Args:
        name: ``retail`` or ``airline``.
        tables: The tables of its database.
        tools: The entry point of its tools as in tau2-bench.
        tools_v1: The entry point of its tools as in tau-bench 1.
    """

    name: str
    tables: frozenset[str]
    tools: str
    tools_v1: str

    def toolkit(self, *, is_v1: bool) -> type[Toolkit]:
        """Return the tools; the module is imported when they are asked for."""
        found: type[Toolkit] = load_entry_point(self.tools_v1 if is_v1 else self.tools)
        return found

    def lacks(self, tables: Collection[str]) -> str:
        """Return a problem with the names of tables, as the end of a message; empty for none."""
        if missing := sorted(self.tables - set(tables)):
            return f"lacks the table {missing[0]!r} of the domain {self.name}"
        if unknown := sorted(set(tables) - self.tables):
            return f"has the table {unknown[0]!r}, which the domain {self.name} does not have"
        return ""


RETAIL = Business(
    "retail",
    frozenset({"users", "orders", "products"}),
    "gem_tau.domains.retail.tools:RetailTools",
    "gem_tau.domains.retail.tools:RetailToolsV1",
)
AIRLINE = Business(
    "airline",
    frozenset({"users", "flights", "reservations"}),
    "gem_tau.domains.airline.tools:AirlineTools",
    "gem_tau.domains.airline.tools:AirlineToolsV1",
)
