"""The domains whose task folders can be read, and why others cannot."""

from collections.abc import Collection
from dataclasses import dataclass

from gem_core.specs import load_entry_point
from gem_tau.scenario import Check
from gem_tau.toolkit import Toolkit, UserToolkit

__all__ = [
    "AIRLINE",
    "MOCK",
    "RETAIL",
    "TELECOM",
    "Business",
    "problem_with",
]

_PLAYED = {"retail": "Retail", "airline": "Airline", "telecom": "Telecom", "mock": "Mock"}
_REFUSED = {
    "banking_knowledge": "its assistant searches hundreds of documents, in which it finds further "
    "tools",
}
DOMAINS = {*_PLAYED, *_REFUSED}
"""The names of the domains of tau2-bench; a folder with one of them has its tasks."""


def problem_with(name: str, wanted: str) -> str:
    """Return why tasks of a domain cannot be read as those of another; empty for the same.

    Args:
        name: The domain of the tasks.
        wanted: The domain that was asked for.
    """
    if name in _REFUSED:
        return f"the domain {name!r} cannot be played here: {_REFUSED[name]}"
    if name == wanted:
        return ""
    instead = f"use tau:{_PLAYED[name]}" if name in _PLAYED else f"there are {', '.join(_PLAYED)}"
    return f"the domain is {name!r}, and {wanted!r} was asked for; {instead}"


@dataclass(frozen=True)
class Business:
    """A domain whose task folders can be read.

    Args:
        name: The name in tau2, such as ``retail``.
        tables: The tables of its database.
        tools: The entry point of its tools as in tau2-bench.
        tools_v1: The entry point of its tools as in tau-bench 1; empty if it is not in there.
        user_tools: The entry point of the user's tools; empty if the user has none.
        database: The file of the tables.
        user_database: The file of what the user's tools are about; it may be missing.
        policy: The files of the policy, one after the other.
        checks: How the user sees that a condition holds, by the name of the condition.
    """

    name: str
    tables: frozenset[str]
    tools: str
    tools_v1: str = ""
    user_tools: str = ""
    database: str = "db.json"
    user_database: str = ""
    policy: tuple[str, ...] = ("policy.md",)
    checks: tuple[tuple[str, Check], ...] = ()

    def toolkit(self, *, is_v1: bool) -> type[Toolkit]:
        """Return the tools; the module is imported when they are asked for."""
        found: type[Toolkit] = load_entry_point(self.tools_v1 if is_v1 else self.tools)
        return found

    @property
    def user_toolkit(self) -> type[UserToolkit] | None:
        """The tools of the user; None without them."""
        return load_entry_point(self.user_tools) if self.user_tools else None

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
TELECOM = Business(
    "telecom",
    frozenset({"plans", "devices", "lines", "customers", "bills"}),
    "gem_tau.domains.telecom.tools:TelecomTools",
    user_tools="gem_tau.domains.telecom.phone:PhoneTools",
    database="db.toml",
    user_database="user_db.toml",
    policy=("main_policy.md", "tech_support_manual.md"),
    checks=(
        ("assert_service_status", Check("check_status_bar", " signal")),
        ("assert_internet_speed", Check("run_speed_test", "Excellent")),
        ("assert_can_send_mms", Check("can_send_mms", "can send")),
    ),
)
MOCK = Business(
    "mock",
    frozenset({"tasks", "users"}),
    "gem_tau.domains.mock.tools:MockTools",
    user_tools="gem_tau.domains.mock.tools:NotificationTools",
    user_database="user_db.json",
)
