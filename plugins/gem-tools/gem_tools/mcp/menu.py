"""The tools of all servers under unambiguous names, with instructions for agents.

A tool keeps its name if no other server has it; otherwise both are called ``server_tool``.
Characters that models and APIs do not accept in a name become ``_``. Every tool can also be called
by its long name ``server.tool``.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_core.calls import Catalog, Request
from gem_core.tool import Function
from gem_tools.mcp.sessions import Offer

__all__ = ["Entry", "Menu", "menu_of"]

Listings = tuple[tuple[str, tuple[Offer, ...]], ...]

INSTRUCTIONS = """\
You may call tools while you work on the task. Write one call in a message, in this form, and stop \
there; you go on once you have seen the result:
<tool_call> <tool_name>NAME</tool_name> <arguments>{{"argument": "value"}}</arguments> </tool_call>
NAME is the name of a tool, and the arguments are one JSON object that fits its parameters; leave \
out what has a default. A message without a tool call is your final answer. These are the tools:
<tools>
{tools}
</tools>"""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


@dataclass(frozen=True)
class Entry:
    """A tool under the name that agents know.

    Args:
        server: Name of its server in the configuration.
        offer: The tool as its server lists it.
        function: The schema for agents.
    """

    server: str
    offer: Offer
    function: Function


class Menu:
    """The tools of all servers.

    Args:
        listings: Name and tools of each server.
    """

    def __init__(self, listings: Listings) -> None:
        self.entries = {entry.function.name: entry for entry in _entries(listings)}
        self._long_names = {f"{e.server}.{e.offer.name}": e for e in self.entries.values()}
        self._own_names = {e.offer.name: e for e in self.entries.values() if not _is_long(e)}

    @functools.cached_property
    def functions(self) -> list[Function]:
        """The schemas of the tools, sorted by name."""
        return [entry.function for _, entry in sorted(self.entries.items())]

    @functools.cached_property
    def instructions(self) -> str:
        """Instructions for an agent."""
        lines = (json.dumps(one.to_openai(), ensure_ascii=False) for one in self.functions)
        return INSTRUCTIONS.format(tools="\n".join(lines))

    @functools.cached_property
    def _catalog(self) -> Catalog:
        return Catalog({"mcp": self.functions})

    def find(self, name: str) -> Entry | None:
        """Return the tool with a name: that for agents, that of its server, or the long one."""
        return self.entries.get(name) or self._own_names.get(name) or self._long_names.get(name)

    def problem(self, name: str, arguments: Mapping[str, Any], *, unreadable: str = "") -> str:
        """Return why a call cannot be sent, as a message for the agent; empty if it can.

        Args:
            name: Name of the tool.
            arguments: Arguments of the call.
            unreadable: Why the arguments cannot be read, if they cannot.
        """
        entry = self.find(name)
        known = name if entry is None else entry.function.name
        return self._catalog.problem(Request(known, arguments, problem=unreadable))


def _is_long(entry: Entry) -> bool:
    return entry.function.name == _shown(f"{entry.server}.{entry.offer.name}")


def _entries(listings: Listings) -> Iterator[Entry]:
    names = [_shown(offer.name) for _, offers in listings for offer in offers]
    taken: set[str] = set()
    for server, offers in listings:
        tag = f"[{server}] " if len(listings) > 1 else ""
        for offer in offers:
            is_clear = names.count(_shown(offer.name)) == 1
            name = _free(offer.name if is_clear else f"{server}.{offer.name}", taken)
            taken.add(name)
            function = Function(name, tag + offer.description, offer.parameters)
            yield Entry(server, offer, function)


def _shown(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME]


def _free(name: str, taken: set[str]) -> str:
    """Return an accepted name that is not taken."""
    shown, number = _shown(name), 2
    while shown in taken:
        shown = f"{_shown(name)[: _LONGEST_NAME - 4]}_{number}"
        number += 1
    return shown


@functools.lru_cache(maxsize=64)
def menu_of(listings: Listings) -> Menu:
    """Return the menu of some listings; tools with the same servers share it."""
    return Menu(listings)
