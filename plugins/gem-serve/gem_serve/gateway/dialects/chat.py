"""OpenAI's chat completions.

The format is that of https://platform.openai.com/docs/api-reference/chat, with vLLM's
``reasoning_content`` for the model's reasoning.
"""

import time
from collections.abc import Mapping
from typing import Any

from gem_serve.gateway.dialects.base import Dialect, Writer, encode, openai_error
from gem_serve.gateway.dialects.fields import (
    check_single,
    items_of,
    refuse,
    stops_of,
    text_of,
    value_of,
    whole_of,
)
from gem_serve.gateway.events import (
    Arguments,
    Ask,
    CallError,
    Event,
    Finish,
    Message,
    Reasoning,
    Text,
)

__all__ = ["ChatDialect", "message_of"]

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TEXTS = ("text", "refusal", "thinking")
_PASSED_ON = ("tool_choice", "parallel_tool_calls", "response_format")


class ChatDialect(Dialect):
    """Requests and answers of ``/v1/chat/completions``."""

    name = "chat"

    def parse(self, body: Mapping[str, Any]) -> Ask:
        check_single(body, "n")
        if body.get("functions"):
            raise refuse("functions", "functions are called tools now; send tools.")
        messages = items_of(body, "messages")
        if not messages:
            raise refuse("messages", "at least one message is needed.")
        options = value_of(body, "stream_options", dict, {})
        return Ask(
            model=value_of(body, "model", str, ""),
            messages=[message_of(one, f"messages[{at}]") for at, one in enumerate(messages)],
            tools=[_tool(one, f"tools[{at}]") for at, one in enumerate(items_of(body, "tools"))],
            stream=value_of(body, "stream", bool, False),
            max_tokens=whole_of(body, "max_completion_tokens", "max_tokens"),
            stop=stops_of(body, "stop"),
            options={name: body[name] for name in _PASSED_ON if body.get(name) is not None},
            dialect={"usage": bool(options.get("include_usage"))},
        )

    def writer(self, ask: Ask, call_id: str) -> Writer:
        return _ChatWriter(ask, call_id)

    def error(self, error: CallError) -> dict[str, Any]:
        return openai_error(error)


def message_of(given: Mapping[str, Any], where: str) -> Message:
    """Return a message with its content as text and only the fields that matter.

    Raises:
        CallError: A field is wrong; the message names it.
    """
    role = given.get("role")
    if role not in _ROLES:
        raise refuse(f"{where}.role", f"expected one of {', '.join(_ROLES)}; got {role!r}.")
    message: Message = {"role": "system" if role == "developer" else role}
    message["content"] = text_of(given.get("content"), f"{where}.content", _TEXTS)
    if role == "tool":
        message["tool_call_id"] = value_of(given, "tool_call_id", str, "")
    reasoning = given.get("reasoning_content") or given.get("reasoning")
    if role == "assistant" and isinstance(reasoning, str):
        message["reasoning_content"] = reasoning
    calls = items_of(given, "tool_calls") if role == "assistant" else []
    if calls:
        message["tool_calls"] = [
            _call(one, f"{where}.tool_calls[{at}]") for at, one in enumerate(calls)
        ]
    return message


def _call(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    function = given.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise refuse(f"{where}.function", "expected an object with a name and arguments.")
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        raise refuse(f"{where}.function.arguments", "expected JSON as text.")
    return {
        "id": str(given.get("id") or ""),
        "type": "function",
        "function": {"name": function["name"], "arguments": arguments},
    }


def _tool(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    if given.get("type", "function") != "function":
        raise refuse(
            f"{where}.type", f"tools of the type {given['type']!r} are unknown; only functions are."
        )
    function = given.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise refuse(f"{where}.function", "expected an object with a name.")
    return {"type": "function", "function": function}


class _ChatWriter(Writer):
    def __init__(self, ask: Ask, call_id: str) -> None:
        super().__init__(ask)
        self._head = {"id": f"chatcmpl-{call_id}", "created": int(time.time()), "model": ask.model}

    def feed(self, event: Event) -> bytes:
        if isinstance(event, Finish):
            return self._finish(event)
        delta = _delta(event)
        if not self.has_begun:
            delta = {"role": "assistant", "content": "", **delta}
        self.reply.add(event)
        self.has_begun = True
        return self._chunk(delta)

    def _finish(self, event: Finish) -> bytes:
        start = b"" if self.has_begun else self._chunk({"role": "assistant", "content": ""})
        self.reply.add(event)
        end = self._chunk({}, event.reason)
        if self.ask.dialect.get("usage"):
            end += encode({**self._chunk_head(), "choices": [], "usage": _usage(event)})
        return start + end + b"data: [DONE]\n\n"

    def _chunk_head(self) -> dict[str, Any]:
        return {**self._head, "object": "chat.completion.chunk"}

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return encode({**self._chunk_head(), "choices": [choice]})

    def answer(self) -> dict[str, Any]:
        message, finish = self.reply.message(), self.reply.finish
        if message.get("tool_calls") and not message["content"]:
            message["content"] = None
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish.reason}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(finish),
        }


def _delta(event: Event) -> dict[str, Any]:
    if isinstance(event, Text):
        return {"content": event.text}
    if isinstance(event, Reasoning):
        return {"reasoning_content": event.text}
    if isinstance(event, Arguments):
        return {"tool_calls": [{"index": event.number, "function": {"arguments": event.text}}]}
    assert not isinstance(event, Finish)  # noqa: S101 - narrows the type
    function = {"name": event.name, "arguments": ""}
    call = {"index": event.number, "id": event.id, "type": "function", "function": function}
    return {"tool_calls": [call]}


def _usage(finish: Finish) -> dict[str, Any]:
    return {
        "prompt_tokens": finish.prompt_tokens,
        "completion_tokens": finish.completion_tokens,
        "total_tokens": finish.prompt_tokens + finish.completion_tokens,
    }
