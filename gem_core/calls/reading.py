"""What a call format finds in an action: the calls, and the text up to their end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_core.observation import Action
from gem_core.tool import Tool, ToolCall

__all__ = ["MOST_CALLS", "Reading", "Request"]

MOST_CALLS = 64
"""Maximum number of calls in an action; further ones are dropped, like any text after a call."""


@dataclass(frozen=True)
class Request:
    """A call as it was read from an action, before its function is looked up.

    Args:
        function: Name of the function; empty if it cannot be read.
        arguments: Arguments of the call, by name.
        id: Id that the result refers to, in formats with such ids.
        problem: Why the call cannot be read, as a message for the agent; else empty.
        parsed: The tool and its call, if the tool itself has parsed the action. Then no function is
            looked up.
    """

    function: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    problem: str = ""
    parsed: tuple[Tool, ToolCall] | None = None


@dataclass(frozen=True)
class Reading:
    """The calls that a format found in an action.

    Args:
        action: Action for the environment if there are no calls.
        requests: The calls in order.
        text: The action up to the end of the last call, as text for a history.
        message: The same as a chat message with the role ``assistant``.
    """

    action: Action
    requests: tuple[Request, ...] = ()
    text: str = ""
    message: Mapping[str, Any] = field(default_factory=dict)
