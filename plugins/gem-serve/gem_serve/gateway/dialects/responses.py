"""Requests of OpenAI's responses API; ``responses_stream`` writes the answers.

The format is that of https://platform.openai.com/docs/api-reference/responses. Custom tools, whose
input is free text, become functions with one argument ``input``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from gem_serve.gateway.dialects.base import Dialect, Writer, openai_error
from gem_serve.gateway.dialects.fields import items_of, refuse, text_of, value_of, whole_of
from gem_serve.gateway.dialects.responses_stream import ResponsesWriter
from gem_serve.gateway.events import Ask, CallError, Message

__all__ = ["ResponsesDialect"]

_TEXTS = ("input_text", "output_text", "text", "refusal", "reasoning_text", "summary_text")
_HOSTED = ("web_search", "image_generation", "code_interpreter", "file_search", "tool_search")
"""Tools that run at the provider. An engine of one's own has none, so they are left out."""
_INPUT = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}


class ResponsesDialect(Dialect):
    """Requests and answers of ``/v1/responses``."""

    name = "responses"

    def parse(self, body: Mapping[str, Any]) -> Ask:
        for name in ("background", "conversation", "prompt"):
            if body.get(name):
                raise refuse(name, "it is not supported; send the whole input.")
        ask = Ask(
            model=value_of(body, "model", str, ""),
            stream=value_of(body, "stream", bool, False),
            max_tokens=whole_of(body, "max_output_tokens"),
        )
        instructions = value_of(body, "instructions", str, "")
        _add_tools(ask, items_of(body, "tools"))
        _add_options(ask, body)
        previous = value_of(body, "previous_response_id", str, "")
        ask.dialect |= {"instructions": instructions, "previous": previous}
        if instructions:
            ask.messages.append({"role": "system", "content": instructions})
        given = value_of(body, "input", (str, list), [])
        if isinstance(given, str):
            ask.messages.append({"role": "user", "content": given})
        else:
            ask.messages += merged(_messages(items_of(body, "input")))
        if not given:
            raise refuse("input", "expected text or a list of items.")
        return ask

    def writer(self, ask: Ask, call_id: str) -> Writer:
        return ResponsesWriter(ask, call_id)

    def error(self, error: CallError) -> dict[str, Any]:
        return openai_error(error)


def merged(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with successive ones of the assistant, which are one reply, joined."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        if last is None or message["role"] != "assistant" or last["role"] != "assistant":
            found.append(message)
            continue
        last["content"] += message["content"]
        for name, empty in (("reasoning_content", ""), ("tool_calls", [])):
            if name in message:
                last[name] = last.get(name, empty) + message[name]
    return found


def _messages(items: Iterable[Mapping[str, Any]]) -> Iterable[Message]:
    for at, item in enumerate(items):
        yield _message(item, f"input[{at}]")


def _message(item: Mapping[str, Any], where: str) -> Message:
    kind = item.get("type", "message")
    if kind == "message":
        return _plain(item, where)
    if kind == "reasoning":
        parts = item.get("content") or item.get("summary") or []
        text = text_of(parts, f"{where}.content", _TEXTS)
        return {"role": "assistant", "content": "", "reasoning_content": text}
    if kind == "function_call":
        return _called(item, value_of(item, "arguments", str, "") or "{}", where)
    if kind == "custom_tool_call":
        given = {"input": value_of(item, "input", str, "")}
        return _called(item, orjson.dumps(given).decode(), where)
    if kind in {"function_call_output", "custom_tool_call_output"}:
        output = text_of(item.get("output"), f"{where}.output", _TEXTS)
        call_id = value_of(item, "call_id", str, "")
        return {"role": "tool", "tool_call_id": call_id, "content": output}
    raise refuse(f"{where}.type", f"items of the type {kind!r} are not supported.")


def _plain(item: Mapping[str, Any], where: str) -> Message:
    role = {"developer": "system"}.get(item.get("role", ""), item.get("role"))
    if role not in {"system", "user", "assistant"}:
        raise refuse(
            f"{where}.role", f"expected system, developer, user or assistant; got {role!r}."
        )
    return {"role": role, "content": text_of(item.get("content"), f"{where}.content", _TEXTS)}


def _called(item: Mapping[str, Any], arguments: str, where: str) -> Message:
    if not isinstance(item.get("name"), str) or not isinstance(item.get("call_id"), str):
        raise refuse(where, "a call needs a call_id and a name.")
    function = {"name": item["name"], "arguments": arguments}
    call = {"id": item["call_id"], "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _add_tools(ask: Ask, given: list[dict[str, Any]]) -> None:
    custom, spaces = set[str](), dict[str, str]()
    for at, tool in enumerate(given):
        kind = str(tool.get("type"))
        if kind == "namespace":
            for inner in items_of(tool, "tools"):
                ask.tools.append(_function(inner, f"tools[{at}]"))
                spaces[inner["name"]] = str(tool.get("name"))
        elif kind in {"function", "custom"}:
            ask.tools.append(_function(tool, f"tools[{at}]"))
            custom |= {tool["name"]} if kind == "custom" else set()
        elif kind.startswith(_HOSTED):
            ask.changes.append(f"the tool {kind} was left out: it runs at a provider")
        else:
            raise refuse(f"tools[{at}].type", f"tools of the type {kind!r} are unknown.")
    ask.dialect |= {"custom": custom, "namespaces": spaces}


def _function(tool: Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(tool.get("name"), str):
        raise refuse(f"{where}.name", "expected a name.")
    function = {"name": tool["name"], "description": tool.get("description") or ""}
    schema = _INPUT if tool.get("type") == "custom" else tool.get("parameters")
    empty = {"type": "object", "properties": {}}
    return {"type": "function", "function": {**function, "parameters": schema or empty}}


def _add_options(ask: Ask, body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("name"):
        choice = {"type": "function", "function": {"name": choice["name"]}}
    if choice is not None:
        ask.options["tool_choice"] = choice
    if body.get("parallel_tool_calls") is not None:
        ask.options["parallel_tool_calls"] = body["parallel_tool_calls"]
    form = value_of(value_of(body, "text", dict, {}), "format", dict, {})
    if form.get("type") == "json_object":
        ask.options["response_format"] = {"type": "json_object"}
    elif form.get("type") == "json_schema":
        schema = {name: form[name] for name in ("name", "schema", "strict") if name in form}
        ask.options["response_format"] = {"type": "json_schema", "json_schema": schema}
