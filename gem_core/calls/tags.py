"""The format ``tags``: each tool parses its own call, often ``<name>...</name>``."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gem_core.calls.format import CallFormat
from gem_core.calls.reading import Reading, Request
from gem_core.faults import boundary
from gem_core.observation import Action
from gem_core.thoughts import after_thoughts
from gem_core.tool import Tool

__all__ = ["TagsFormat"]

TOOLS_HEADING = "Available tools:"


class TagsFormat(CallFormat):
    """A call is what its tool parses; the agent sees the output as it is."""

    def explain(self, tools: Sequence[Tool]) -> str:
        """Return the instructions of the tools."""
        heading = [TOOLS_HEADING] if len(tools) > 1 else []
        return "\n".join([*heading, *(tool.instructions() for tool in tools)])

    def readings(self, action: Action, tools: Sequence[Tool]) -> Iterator[Reading]:
        """Yield the call of each tool that finds one after the agent's thoughts."""
        start = after_thoughts(action) if isinstance(action, str) else 0
        for tool in tools:
            with boundary("tool"):
                call = tool.parse(action[start:] if start else action)
            if call is not None:
                if start:
                    call = replace(call, text=action[:start] + call.text)
                request = Request(call.function, call.arguments, parsed=(tool, call))
                yield Reading(action, (request,), call.text)

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the output."""
        return "\n".join(outputs)

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return no messages: the observation is all that a chat needs."""
        return []
