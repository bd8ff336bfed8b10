"""What the dialects have in common: a parser of requests, and a writer of answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson

from gem_serve.gateway.events import Ask, CallError, Event, ReplyMessage

__all__ = ["Dialect", "Writer", "encode", "openai_error"]


class Writer(ABC):
    """Writes the answer to one request, from the events of the reply.

    Args:
        ask: The request.
    """

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.reply = ReplyMessage()
        self.has_begun = False

    @abstractmethod
    def feed(self, event: Event) -> bytes:
        """Take the next event, and return what a stream sends for it."""

    @abstractmethod
    def answer(self) -> dict[str, Any]:
        """Return the answer that is not streamed, after the last event."""


class Dialect(ABC):
    """The requests, answers and errors of one API."""

    name: ClassVar[str]

    @abstractmethod
    def parse(self, body: Mapping[str, Any]) -> Ask:
        """Read the body of a request.

        Raises:
            CallError: A field is wrong; the message names it.
        """

    @abstractmethod
    def writer(self, ask: Ask, call_id: str) -> Writer:
        """Return a writer of the answer."""

    @abstractmethod
    def error(self, error: CallError) -> dict[str, Any]:
        """Return the body of an error."""


_LINE_ENDS = {"\x85": b"\\u0085", "\u2028": b"\\u2028", "\u2029": b"\\u2029"}
"""Characters at which some clients split lines, although the format does not."""
_ESCAPES = {character.encode(): escape for character, escape in _LINE_ENDS.items()}


def encode(content: Mapping[str, Any], event: str = "") -> bytes:
    """Return an event of a stream (server-sent events)."""
    name = f"event: {event}\n".encode() if event else b""
    data = orjson.dumps(content)
    if not data.isascii():
        for character, escape in _ESCAPES.items():
            data = data.replace(character, escape)
    return name + b"data: " + data + b"\n\n"


_TYPES = {
    "invalid": "invalid_request_error",
    "context": "invalid_request_error",
    "missing": "invalid_request_error",
    "conflict": "invalid_request_error",
    "limit": "rate_limit_error",
    "engine": "server_error",
    "unavailable": "server_error",
}
_CODES = {"context": "context_length_exceeded", "limit": "budget_exceeded"}


def openai_error(error: CallError) -> dict[str, Any]:
    """Return the body of an error in OpenAI's form."""
    kind = _TYPES.get(error.kind, "server_error")
    code = _CODES.get(error.kind)
    return {"error": {"message": error.message, "type": kind, "param": error.field, "code": code}}
