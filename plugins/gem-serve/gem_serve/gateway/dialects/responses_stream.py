"""Answers of OpenAI's responses API: items, and the events of a stream.

A stream opens an item with ``response.output_item.added``, sends its deltas, and closes it with
``response.output_item.done``, which has the whole item.
"""

import time
from typing import Any

from gem_serve.gateway.dialects.base import Writer, encode
from gem_serve.gateway.events import (
    Arguments,
    Ask,
    Event,
    Finish,
    Reasoning,
    Text,
    ToolStart,
    plain_arguments,
)

__all__ = ["ResponsesWriter"]


class ResponsesWriter(Writer):
    """Writes a response.

    Args:
        ask: The request.
        call_id: The id of the call.
    """

    def __init__(self, ask: Ask, call_id: str) -> None:
        super().__init__(ask)
        self._id = call_id
        self._created = int(time.time())
        self._items: list[dict[str, Any]] = []
        self._open = ""
        self._pieces: list[str] = []
        self._number = -1
        self._finish = Finish("stop", 0, 0)

    def feed(self, event: Event) -> bytes:
        start = b"" if self.has_begun else self._start()
        self.has_begun = True
        self.reply.add(event)
        return start + self._feed(event)

    def _feed(self, event: Event) -> bytes:
        if isinstance(event, Text):
            begun = b"" if self._open == "message" else self._begin_message()
            return begun + self._delta("response.output_text.delta", event.text, logprobs=[])
        if isinstance(event, Reasoning):
            begun = b"" if self._open == "reasoning" else self._begin_reasoning()
            return begun + self._delta("response.reasoning_text.delta", event.text)
        if isinstance(event, ToolStart):
            return self._begin_call(event)
        if isinstance(event, Arguments):
            return self._argument(event.text)
        self._finish = event
        closed = self._close()
        kind = "incomplete" if event.reason == "length" else "completed"
        return closed + self._event(f"response.{kind}", response=self.answer())

    def _start(self) -> bytes:
        response = self._response("in_progress", [])
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def _begin(self, kind: str, item: dict[str, Any]) -> bytes:
        closed = self._close()
        self._open, self._pieces = kind, []
        self._items.append(item)
        return closed + self._event(
            "response.output_item.added", output_index=len(self._items) - 1, item=item
        )

    def _begin_message(self) -> bytes:
        item = {
            "type": "message",
            "id": f"msg_{self._id}_{len(self._items)}",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
        }
        begun = self._begin("message", item)
        return begun + self._part("response.content_part.added", _text_part(""))

    def _begin_reasoning(self) -> bytes:
        item = {
            "type": "reasoning",
            "id": f"rs_{self._id}_{len(self._items)}",
            "summary": [],
            "content": [],
        }
        begun = self._begin("reasoning", item)
        return begun + self._part("response.content_part.added", _reasoning_part(""))

    def _begin_call(self, event: ToolStart) -> bytes:
        custom = event.name in self.ask.dialect.get("custom", ())
        item = {
            "type": "custom_tool_call" if custom else "function_call",
            "id": f"fc_{self._id}_{len(self._items)}",
            "status": "in_progress",
            "call_id": event.id,
            "name": event.name,
            "input" if custom else "arguments": "",
        }
        space = self.ask.dialect.get("namespaces", {}).get(event.name)
        return self._begin(
            "custom" if custom else "call", item | ({"namespace": space} if space else {})
        )

    def _argument(self, text: str) -> bytes:
        if self._open == "custom":  # its input is known when the arguments are complete
            self._pieces.append(text)
            return b""
        return self._delta("response.function_call_arguments.delta", text, indexed=False)

    def _delta(self, kind: str, text: str, *, indexed: bool = True, **more: Any) -> bytes:
        self._pieces.append(text)
        place = {"content_index": 0} if indexed else {}
        return self._event(kind, **self._place(), **place, delta=text, **more)

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}

    def _part(self, kind: str, part: dict[str, Any]) -> bytes:
        return self._event(kind, **self._place(), content_index=0, part=part)

    def _close(self) -> bytes:
        kind, self._open = self._open, ""
        if not kind:
            return b""
        text, item = "".join(self._pieces), self._items[-1]
        if "status" in item:
            item["status"] = "completed"
        done = {
            "message": self._close_message,
            "reasoning": self._close_reasoning,
            "call": self._close_call,
            "custom": self._close_custom,
        }[kind](text, item)
        at = len(self._items) - 1
        return done + self._event("response.output_item.done", output_index=at, item=item)

    def _close_message(self, text: str, item: dict[str, Any]) -> bytes:
        item["content"] = [_text_part(text)]
        place = {**self._place(), "content_index": 0}
        done = self._event("response.output_text.done", **place, text=text, logprobs=[])
        return done + self._part("response.content_part.done", _text_part(text))

    def _close_reasoning(self, text: str, item: dict[str, Any]) -> bytes:
        item["content"] = [_reasoning_part(text)]
        place = {**self._place(), "content_index": 0}
        done = self._event("response.reasoning_text.done", **place, text=text)
        return done + self._part("response.content_part.done", _reasoning_part(text))

    def _close_call(self, text: str, item: dict[str, Any]) -> bytes:
        item["arguments"] = text
        return self._event(
            "response.function_call_arguments.done",
            **self._place(),
            name=item["name"],
            arguments=text,
        )

    def _close_custom(self, text: str, item: dict[str, Any]) -> bytes:
        value = plain_arguments(text)
        given = value.get("input", text) if isinstance(value, dict) else text
        item["input"] = given if isinstance(given, str) else text
        place = self._place()
        delta = self._event("response.custom_tool_call_input.delta", **place, delta=item["input"])
        return delta + self._event(
            "response.custom_tool_call_input.done", **place, input=item["input"]
        )

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return encode({"type": kind, "sequence_number": self._number, **fields}, kind)

    def answer(self) -> dict[str, Any]:
        cut = self._finish.reason == "length"
        return self._response("incomplete" if cut else "completed", self._items)

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        ask, finish = self.ask, self._finish
        details = {"reason": "max_output_tokens"} if status == "incomplete" else None
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": details,
            "instructions": ask.dialect.get("instructions") or None,
            "model": ask.model,
            "output": output,
            "parallel_tool_calls": ask.options.get("parallel_tool_calls", True),
            "previous_response_id": ask.dialect.get("previous") or None,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "temperature": None,
            "top_p": None,
            "usage": _usage(finish) if status != "in_progress" else None,
        }


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _reasoning_part(text: str) -> dict[str, Any]:
    return {"type": "reasoning_text", "text": text}


def _usage(finish: Finish) -> dict[str, Any]:
    return {
        "input_tokens": finish.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": finish.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": finish.prompt_tokens + finish.completion_tokens,
    }
