"""What a program asks and what a model replies, in the one form that all dialects share.

A dialect turns a request into an ``Ask``, whose messages and tools have OpenAI's chat form, and
turns the events of a reply into its own answers. The engine, the parsers and the recorder know no
dialect.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "Arguments",
    "Ask",
    "CallError",
    "Event",
    "Finish",
    "Message",
    "Reasoning",
    "ReplyMessage",
    "Text",
    "ToolStart",
    "plain_arguments",
]

Message = dict[str, Any]


class CallError(Exception):
    """A call cannot be answered.

    Args:
        status: The HTTP status.
        message: What was asked, what was found and what to do.
        kind: ``invalid``, ``context``, ``missing``, ``conflict``, ``limit``, ``engine`` or
            ``unavailable``; each dialect has its own words for it.
        field: The field of the request that is wrong; None if there is none.
        retry_after: The engine's ``Retry-After``; None without one.
    """

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid",
        field: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.kind = status, message, kind
        self.field, self.retry_after = field, retry_after


@dataclass(slots=True)
class Ask:
    """A request of a program.

    Args:
        model: The name of the model that the program asked for.
        messages: The chat, in OpenAI's form, with contents as text.
        tools: Function schemas, in OpenAI's form.
        prompt: The prompt of a completion, as text or token ids; None for a chat.
        stream: Whether the answer is streamed.
        max_tokens: Most tokens of the reply; None for the episode's limit.
        budget: The tokens of the episode's budget that are reserved for the reply; None without a
            budget.
        stop: Strings that end the reply.
        options: More fields for the engine: ``tool_choice``, ``response_format``, ...
        dialect: What the dialect needs for its answer.
        changes: What was left out or changed, to be recorded.
    """

    model: str = ""
    messages: list[Message] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    prompt: str | list[int] | None = None
    stream: bool = False
    max_tokens: int | None = None
    budget: int | None = None
    stop: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    dialect: dict[str, Any] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)


class Text(NamedTuple):
    """A piece of the reply's text."""

    text: str


class Reasoning(NamedTuple):
    """A piece of the model's reasoning."""

    text: str


class ToolStart(NamedTuple):
    """The beginning of a tool call."""

    number: int
    id: str
    name: str


class Arguments(NamedTuple):
    """A piece of the arguments of a tool call, which are JSON."""

    number: int
    text: str


class Finish(NamedTuple):
    """The end of a reply: ``stop``, ``length`` or ``tool_calls``, and the numbers of tokens."""

    reason: str
    prompt_tokens: int
    completion_tokens: int


Event = Text | Reasoning | ToolStart | Arguments | Finish


class ReplyMessage:
    """The message that the events of a reply add up to."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, tuple[ToolStart, list[str]]] = {}
        self.finish = Finish("stop", 0, 0)

    def add(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, Text):
            self._text.append(event.text)
        elif isinstance(event, Reasoning):
            self._reasoning.append(event.text)
        elif isinstance(event, ToolStart):
            self._calls[event.number] = (event, [])
        elif isinstance(event, Arguments):
            self._calls[event.number][1].append(event.text)
        else:
            self.finish = event

    def message(self) -> Message:
        """Return the message in OpenAI's form, with ``reasoning_content`` if there is any."""
        found: Message = {"role": "assistant", "content": "".join(self._text)}
        if self._reasoning:
            found["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            found["tool_calls"] = [
                {
                    "id": start.id,
                    "type": "function",
                    "function": {"name": start.name, "arguments": "".join(pieces)},
                }
                for start, pieces in self._calls.values()
            ]
        return found


def plain_arguments(text: Any) -> Any:
    """Return the value of a call's arguments; the text itself if it is not JSON."""
    if isinstance(text, Mapping):
        return dict(text)
    try:
        return json.loads(text) if text else {}
    except (TypeError, ValueError):
        return text
