"""Anthropic's messages.

The format is that of https://docs.anthropic.com/en/api/messages and of its streams.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gem_serve.gateway.dialects.base import Dialect, Writer, encode
from gem_serve.gateway.dialects.fields import (
    items_of,
    refuse,
    stops_of,
    text_of,
    value_of,
    whole_of,
)
from gem_serve.gateway.events import (
    Ask,
    CallError,
    Event,
    Finish,
    Message,
    Reasoning,
    Text,
    ToolStart,
    plain_arguments,
)

__all__ = ["MessagesDialect"]

_ERRORS = {
    "invalid": "invalid_request_error",
    "context": "invalid_request_error",
    "missing": "not_found_error",
    "conflict": "invalid_request_error",
    "limit": "rate_limit_error",
    "engine": "api_error",
    "unavailable": "overloaded_error",
}
_REASONS = {"length": "max_tokens", "tool_calls": "tool_use"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


class MessagesDialect(Dialect):
    """Requests and answers of ``/v1/messages``."""

    name = "messages"

    def parse(self, body: Mapping[str, Any]) -> Ask:
        given = items_of(body, "messages")
        if not given:
            raise refuse("messages", "at least one message is needed.")
        system = text_of(body.get("system"), "system", ("text",))
        messages: list[Message] = [{"role": "system", "content": system}] if system else []
        for at, one in enumerate(given):
            messages += _messages(one, f"messages[{at}]")
        return Ask(
            model=value_of(body, "model", str, ""),
            messages=messages,
            tools=[_tool(one, f"tools[{at}]") for at, one in enumerate(items_of(body, "tools"))],
            stream=value_of(body, "stream", bool, False),
            max_tokens=whole_of(body, "max_tokens"),
            stop=stops_of(body, "stop_sequences"),
            options=_choice(value_of(body, "tool_choice", dict, {})),
        )

    def writer(self, ask: Ask, call_id: str) -> Writer:
        return _MessagesWriter(ask, call_id)

    def error(self, error: CallError) -> dict[str, Any]:
        message = error.message
        if error.kind == "context":
            message = f"prompt is too long: {message}"
        kind = _ERRORS.get(error.kind, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}


def _messages(given: Mapping[str, Any], where: str) -> Iterator[Message]:
    role, content = given.get("role"), given.get("content")
    if role == "assistant":
        yield _assistant(content, f"{where}.content")
    elif role == "user":
        yield from _user(content, f"{where}.content")
    elif role == "system":
        yield {"role": "system", "content": text_of(content, f"{where}.content", ("text",))}
    else:
        raise refuse(f"{where}.role", f"expected user or assistant, got {role!r}.")


def _blocks(content: Any, where: str) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return items_of({where: content}, where)


def _assistant(content: Any, where: str) -> Message:
    text, reasoning, calls = "", "", []
    for at, block in enumerate(_blocks(content, where)):
        kind = block.get("type")
        if kind == "text":
            text += value_of(block, "text", str, "")
        elif kind == "thinking":
            reasoning += value_of(block, "thinking", str, "")
        elif kind == "tool_use":
            calls.append(_call(block, f"{where}[{at}]"))
        elif kind != "redacted_thinking":
            raise refuse(f"{where}[{at}].type", f"blocks of the type {kind!r} are not supported.")
    message: Message = {"role": "assistant", "content": text}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _call(block: Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(block.get("name"), str) or not isinstance(block.get("id"), str):
        raise refuse(where, "a tool_use needs an id and a name.")
    arguments = orjson.dumps(block.get("input") or {}).decode()
    function = {"name": block["name"], "arguments": arguments}
    return {"id": block["id"], "type": "function", "function": function}


def _user(content: Any, where: str) -> Iterator[Message]:
    """Yield a message for each result of a tool, and for the text between results."""
    texts: list[str] = []
    for at, block in enumerate(_blocks(content, where)):
        kind = block.get("type")
        if kind == "text":
            texts.append(value_of(block, "text", str, ""))
            continue
        if kind != "tool_result":
            raise refuse(
                f"{where}[{at}].type", f"blocks of the type {kind!r} are not supported; send text."
            )
        if texts:
            yield {"role": "user", "content": "\n".join(texts)}
            texts = []
        result = text_of(block.get("content"), f"{where}[{at}].content", ("text",))
        yield {"role": "tool", "tool_call_id": block.get("tool_use_id") or "", "content": result}
    if texts:
        yield {"role": "user", "content": "\n".join(texts)}


def _tool(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    if given.get("type", "custom") not in {"custom", None}:
        raise refuse(
            f"{where}.type",
            f"tools of the type {given['type']!r} run at the provider; send tools of your own.",
        )
    if not isinstance(given.get("name"), str):
        raise refuse(f"{where}.name", "expected a name.")
    function = {"name": given["name"], "description": given.get("description") or ""}
    schema = given.get("input_schema") or {"type": "object", "properties": {}}
    return {"type": "function", "function": {**function, "parameters": schema}}


def _choice(given: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    kind = given.get("type")
    if kind == "tool":
        options["tool_choice"] = {"type": "function", "function": {"name": given.get("name")}}
    elif kind in _CHOICES:
        options["tool_choice"] = _CHOICES[kind]
    elif kind is not None:
        raise refuse("tool_choice.type", f"expected auto, any, tool or none; got {kind!r}.")
    if given.get("disable_parallel_tool_use"):
        options["parallel_tool_calls"] = False
    return options


class _MessagesWriter(Writer):
    def __init__(self, ask: Ask, call_id: str) -> None:
        super().__init__(ask)
        self._id = f"msg_{call_id}"
        self._open = ""
        self._block = -1
        self._tool = -1

    def feed(self, event: Event) -> bytes:
        start = b"" if self.has_begun else self._start()
        self.has_begun = True
        self.reply.add(event)
        if isinstance(event, Finish):
            return start + self._close() + self._end(event)
        if isinstance(event, Text):
            return start + self._piece("text", {"type": "text_delta", "text": event.text})
        if isinstance(event, Reasoning):
            return start + self._piece(
                "thinking", {"type": "thinking_delta", "thinking": event.text}
            )
        if isinstance(event, ToolStart):
            block = {"type": "tool_use", "id": event.id, "name": event.name, "input": {}}
            return start + self._begin("tool_use", block)
        return self._piece("tool_use", {"type": "input_json_delta", "partial_json": event.text})

    def _start(self) -> bytes:
        message = self._message([], None, Finish("", 0, 0))
        return _event("message_start", message=message)

    def _piece(self, kind: str, delta: dict[str, Any]) -> bytes:
        begun = b""
        if self._open != kind:
            empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}[kind]
            begun = self._begin(kind, {"type": kind, **empty})
        return begun + _event("content_block_delta", index=self._block, delta=delta)

    def _begin(self, kind: str, block: dict[str, Any]) -> bytes:
        closed = self._close()
        self._open = kind
        self._block += 1
        return closed + _event("content_block_start", index=self._block, content_block=block)

    def _close(self) -> bytes:
        kind, self._open = self._open, ""
        if not kind:
            return b""
        signed = b""
        if kind == "thinking":
            delta = {"type": "signature_delta", "signature": self._id}
            signed = _event("content_block_delta", index=self._block, delta=delta)
        return signed + _event("content_block_stop", index=self._block)

    def _end(self, finish: Finish) -> bytes:
        delta = {"stop_reason": _REASONS.get(finish.reason, "end_turn"), "stop_sequence": None}
        usage = _usage(finish)
        return _event("message_delta", delta=delta, usage=usage) + _event("message_stop")

    def _message(self, content: list[Any], reason: str | None, finish: Finish) -> dict[str, Any]:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.ask.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": _usage(finish),
        }

    def answer(self) -> dict[str, Any]:
        message, finish = self.reply.message(), self.reply.finish
        content: list[dict[str, Any]] = []
        if message.get("reasoning_content"):
            thinking = message["reasoning_content"]
            content.append({"type": "thinking", "thinking": thinking, "signature": self._id})
        if message["content"]:
            content.append({"type": "text", "text": message["content"]})
        for call in message.get("tool_calls", ()):
            function = call["function"]
            value = plain_arguments(function["arguments"])
            value = value if isinstance(value, dict) else {"arguments": value}
            block = {"type": "tool_use", "id": call["id"], "name": function["name"]}
            content.append({**block, "input": value})
        return self._message(content, _REASONS.get(finish.reason, "end_turn"), finish)


def _usage(finish: Finish) -> dict[str, int]:
    return {"input_tokens": finish.prompt_tokens, "output_tokens": finish.completion_tokens}


def _event(kind: str, **fields: Any) -> bytes:
    return encode({"type": kind, **fields}, kind)
