"""Reading an engine's answers: bytes, errors, and the pieces of a reply.

Engines put the token ids of a reply into different places. Each of these is read, whichever engine
it is: ``token_ids`` of a choice, ``prompt_token_ids`` of a choice or an answer, and ``sglext``.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

import aiohttp
import orjson

from gem_serve.gateway.events import (
    Arguments,
    CallError,
    Event,
    Finish,
    Reasoning,
    Text,
    ToolStart,
)

__all__ = [
    "LARGEST",
    "ChatReader",
    "Piece",
    "Reader",
    "TextReader",
    "data_of",
    "loads",
    "refusal",
    "whole_of",
]

LARGEST = 64 * 2**20
"""Most bytes of a request of a program, and of an answer of the engine."""

_CONTEXT = re.compile(
    r"context length|context window|maximum.{0,20}length|too long|at least 1, got 0", re.IGNORECASE
)
"""What engines say of a prompt that leaves no room; vLLM's rest of the context is then 0."""
_LONGEST_MESSAGE = 2000


class Piece(NamedTuple):
    """A piece of a reply.

    Args:
        events: What it adds to the reply.
        ids: The sampled token ids.
        logprobs: Their log-probabilities in nats.
        prompt_ids: Token ids of the prompt; None if the piece does not say.
    """

    events: list[Event]
    ids: list[int]
    logprobs: list[float | None]
    prompt_ids: list[int] | None = None


async def data_of(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the data of server-sent events; lines may be longer than aiohttp's limit.

    Raises:
        CallError: The answer is too large.
    """
    rest: list[bytes] = []
    async for data in _bounded(response):
        *lines, end = data.split(b"\n")
        for line in lines:
            whole, rest = b"".join([*rest, line]), []
            if whole.startswith(b"data:"):
                found = whole[5:].strip()
                if found != b"[DONE]":
                    yield found
        rest.append(end)


async def whole_of(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer.

    Raises:
        CallError: It is too large.
    """
    return b"".join([data async for data in _bounded(response)])


async def _bounded(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    size = 0
    async for data in response.content.iter_any():
        size += len(data)
        if size > LARGEST:
            raise CallError(
                502, f"The engine's answer has more than {LARGEST >> 20} MiB.", "engine"
            )
        yield data


def loads(text: bytes) -> dict[str, Any]:
    """Return the JSON object of an answer, or of an event of a stream.

    Raises:
        CallError: It is not a JSON object, or it says that the engine failed.
    """
    try:
        found = orjson.loads(text)
    except ValueError:
        found = _lenient(text)
    if not isinstance(found, dict):
        raise CallError(502, "The engine's answer is not a JSON object.", "engine")
    error = found.get("error")
    if error:
        code = error.get("code") if isinstance(error, Mapping) else None
        if isinstance(code, int) and 400 <= code < 600:  # the status came before the error
            raise refusal(code, text)
        raise CallError(502, f"The engine failed: {_message(found)}", "engine")
    return found


def _lenient(text: bytes) -> Any:
    """Read what orjson refuses: NaN, and halves of characters, which become question marks."""
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace")
        return json.loads(whole)
    except ValueError as error:
        raise CallError(502, f"The engine's answer is not JSON: {error}", "engine") from error


def _message(found: Mapping[str, Any]) -> str:
    """Return the message of an error: that of OpenAI's ``error``, or SGLang's without it."""
    error = found.get("error", found)
    said = error.get("message") if isinstance(error, Mapping) else error
    return str(said or found)[:_LONGEST_MESSAGE]


def refusal(status: int, text: bytes, retry_after: str | None = None) -> CallError:
    """Return the error of an engine's answer.

    Args:
        status: Its HTTP status.
        text: Its body.
        retry_after: Its ``Retry-After``; None without one.
    """
    try:
        message = _message(orjson.loads(text))
    except (ValueError, AttributeError):
        message = text[:_LONGEST_MESSAGE].decode(errors="replace")
    kind = "engine" if status >= 500 else "invalid"
    if status == 503:
        kind = "unavailable"
    if status == 429:
        kind = "limit"
    if status in {400, 413} and _CONTEXT.search(message):
        kind = "context"
    return CallError(status, message, kind, retry_after=retry_after)


class Reader(ABC):
    """Reads a whole answer, or the pieces of a stream, which ends with the numbers of tokens.

    Args:
        is_stream: Whether the answer is streamed.
    """

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._finish: str | None = None
        self._has_ended = False
        self._sampled = 0
        self._given = 0

    def read(self, answer: Mapping[str, Any]) -> Piece:
        """Return the piece of an answer."""
        choices = answer.get("choices")
        choice: Mapping[str, Any] = choices[0] if choices else {}
        self._finish = choice.get("finish_reason") or self._finish
        ids, prompt = _ids(answer, choice)
        self._sampled += len(ids)
        self._given = self._given or len(prompt or ())
        events = [*self._events(choice), *self._ended(answer)]
        return Piece(events, ids, self._logprobs(choice.get("logprobs") or {}), prompt)

    def end(self) -> Piece:
        """Return the end of a reply whose numbers of tokens the engine did not say.

        Raises:
            CallError: The reply has no end, or the engine was told to abort it.
        """
        if self._finish is None or self._finish == "abort":
            raise CallError(502, "The engine stopped in the middle of its reply.", "engine")
        if self._has_ended:
            return Piece([], [], [])
        return Piece([Finish(self._finish, self._given, self._sampled)], [], [])

    @abstractmethod
    def _events(self, choice: Mapping[str, Any]) -> list[Event]:
        """Return the events that a choice adds to the reply."""

    @abstractmethod
    def _logprobs(self, found: Mapping[str, Any]) -> list[float | None]:
        """Return the log-probabilities of a choice."""

    def _ended(self, answer: Mapping[str, Any]) -> list[Event]:
        """Return the end of the reply, if it is known: in streams the usage follows it."""
        usage = answer.get("usage")
        if self._finish is None or self._has_ended or (self._is_stream and not usage):
            return []
        self._has_ended = True
        given = (usage or {}).get("prompt_tokens", self._given)
        sampled = (usage or {}).get("completion_tokens", self._sampled)
        return [Finish(self._finish, given, sampled)]


def _ids(
    answer: Mapping[str, Any], choice: Mapping[str, Any]
) -> tuple[list[int], list[int] | None]:
    """Return the sampled token ids and those of the prompt, wherever the engine puts them."""
    more = answer.get("sglext") or {}
    ids = choice.get("token_ids") or (more.get("output_ids") or [[]])[0]
    prompt = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
    return ids, prompt or more.get("input_ids")


class ChatReader(Reader):
    """Reads chat completions."""

    def __init__(self, *, is_stream: bool) -> None:
        super().__init__(is_stream=is_stream)
        self._started: set[int] = set()

    def _events(self, choice: Mapping[str, Any]) -> list[Event]:
        said = choice.get("delta" if self._is_stream else "message") or {}
        events: list[Event] = []
        reasoning = said.get("reasoning_content") or said.get("reasoning")
        if reasoning:
            events.append(Reasoning(reasoning))
        if said.get("content"):
            events.append(Text(said["content"]))
        for position, call in enumerate(said.get("tool_calls") or ()):
            # The calls of a whole answer are complete, and some engines number their tools.
            number = call.get("index", position) if self._is_stream else position
            events += self._call(number, call)
        return events

    def _call(self, number: int, call: Mapping[str, Any]) -> list[Event]:
        function, events = call.get("function") or {}, list[Event]()
        if number not in self._started:
            self._started.add(number)
            events.append(ToolStart(number, call.get("id") or "", function.get("name") or ""))
        if function.get("arguments"):
            events.append(Arguments(number, function["arguments"]))
        return events

    def _logprobs(self, found: Mapping[str, Any]) -> list[float | None]:
        return [one.get("logprob") for one in found.get("content") or ()]


class TextReader(Reader):
    """Reads completions."""

    def _events(self, choice: Mapping[str, Any]) -> list[Event]:
        return [Text(choice["text"])] if choice.get("text") else []

    def _logprobs(self, found: Mapping[str, Any]) -> list[float | None]:
        return found.get("token_logprobs") or []
