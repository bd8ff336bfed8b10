"""Calls in the form of the OpenAI API: an assistant message with ``tool_calls``.

An action is such a message as a dict (or an object of a client library with ``model_dump``), or its
JSON text. A message without calls is replaced by its ``content``; any other text is an action.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.calls import MOST_CALLS, FunctionFormat, Reading, Request
from gem_core.calls.written import json_of, request_of
from gem_core.observation import Action
from gem_core.thoughts import spoken
from gem_core.tool import Function
from gem_tools.formats.schemas import schema_lines

__all__ = ["OpenAIFormat"]

FORM = (
    '{"tool_calls": [{"id": "1", "type": "function", '
    '"function": {"name": "function_name", "arguments": {"parameter": "value"}}}]}'
)


class OpenAIFormat(FunctionFormat):
    """Assistant messages with ``tool_calls``, answered by messages with the role ``tool``.

    In a chat, arguments are objects, as chat templates expect (unreadable ones are not changed),
    and every result has its ``tool_call_id``. As text, messages are JSON.
    """

    def instructions(self, functions: Sequence[Function]) -> str:
        """Return the schemas, and the form of a message with calls as JSON."""
        return (
            "You may call functions while you work. Their schemas, one a line:\n"
            f"{schema_lines(functions)}\n"
            "To call some, let your message be one JSON object of this form and nothing else:\n"
            f"{FORM}\n"
            "The results come back as JSON objects, each with the id of its call. Any other "
            "message is your answer."
        )

    def read(self, action: Action) -> Reading:
        """Return the calls of a message, or the content of a message without calls."""
        if isinstance(action, str):
            return self._read_text(action)
        dump = getattr(action, "model_dump", None)
        message = dump(exclude_none=True) if dump is not None else action
        return _read_message(message, action) if isinstance(message, Mapping) else Reading(action)

    def _read_text(self, action: str) -> Reading:
        text = spoken(action).strip()
        if not text.startswith("{"):
            return Reading(action)
        try:
            message = json_of(text)
        except ValueError as error:
            if '"tool_calls"' not in text:
                return Reading(action)
            problem = f"The message is not valid JSON: {error}."
            said = {"role": "assistant", "content": action}
            return Reading(action, (Request(problem=problem),), action, said)
        return _read_message(message, action)

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the messages with the role ``tool`` as JSON, one on each line."""
        results = self.messages(reading, outputs)[1:]
        return "\n".join(json.dumps(message, ensure_ascii=False) for message in results)

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the assistant message, and a message for each call with its ``tool_call_id``."""
        results = [
            {
                "role": "tool",
                "tool_call_id": request.id,
                "name": request.function,
                "content": output.rstrip(),
            }
            for request, output in zip(reading.requests, outputs, strict=True)
        ]
        return [dict(reading.message), *results]


def _read_message(message: Mapping[str, Any], action: Action) -> Reading:
    calls = message.get("tool_calls")
    if not calls:
        is_said = message.get("role") == "assistant" and "content" in message
        return Reading(_text_of(message["content"]) if is_said else action)
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        calls = [calls]
    requests = tuple(_request(call, index) for index, call in enumerate(calls[:MOST_CALLS]))
    said = {
        "role": "assistant",
        "content": _text_of(message.get("content")),
        "tool_calls": [
            _written(request, call) for request, call in zip(requests, calls, strict=False)
        ],
    }
    text = action.strip() if isinstance(action, str) else json.dumps(said, ensure_ascii=False)
    return Reading(action, requests, text, said)


def _request(call: Any, index: int) -> Request:
    given = call.get("id") if isinstance(call, Mapping) else None
    function = _function_of(call)
    return request_of(function, given if isinstance(given, str) and given else f"call_{index}")


def _function_of(call: Any) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    return dict(function) if isinstance(function, Mapping) else {}


def _written(request: Request, call: Any) -> dict[str, Any]:
    """Return a call for the history: as it was read, or unchanged if it cannot be read."""
    as_it_was = _function_of(call).get("arguments")
    arguments = str(as_it_was) if request.problem else dict(request.arguments)
    function = {"name": request.function, "arguments": arguments}
    return {"id": request.id, "type": "function", "function": function}


def _text_of(content: Any) -> str:
    """Return the text of a message's content: None, a text, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, Sequence) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))
