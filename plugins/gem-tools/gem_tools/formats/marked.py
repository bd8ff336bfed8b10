"""Formats that mark calls in a text: between tags (``hermes``) or between fences (``fenced``).

Between the marks is one JSON object with ``name`` and ``arguments``. An opening mark begins a
call; if its content cannot be read, the call has failed. The last call may lack its closing mark,
because generation often stops there.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from gem_core.calls import MOST_CALLS, FunctionFormat, Reading, Request
from gem_core.calls.written import json_at, request_of
from gem_core.observation import Action
from gem_core.thoughts import after_thoughts
from gem_core.tool import Function
from gem_tools.formats.schemas import schema_lines

__all__ = ["FencedFormat", "HermesFormat", "MarkedFormat"]


class MarkedFormat(FunctionFormat):
    """Base class of formats that mark calls: write ``opening``, ``closing`` and ``show``."""

    opening: ClassVar[re.Pattern[str]]
    closing: ClassVar[re.Pattern[str]]

    def read(self, action: Action) -> Reading:
        """Return every marked call after the agent's thoughts."""
        mark = self._next(action, after_thoughts(action)) if isinstance(action, str) else None
        requests: list[Request] = []
        end = 0
        while mark is not None and len(requests) < MOST_CALLS:
            request, end = self._request(action, mark.end())
            requests.append(request)
            mark = self._next(action, end)
        text = action[:end] if requests else ""
        return Reading(action, tuple(requests), text)

    def _next(self, text: str, start: int) -> re.Match[str] | None:
        return self.opening.search(text, start)

    def _request(self, text: str, start: int) -> tuple[Request, int]:
        """Return the call that begins at ``start``, and its end."""
        problem = ""
        try:
            value, end = json_at(text, start)
        except ValueError as error:
            problem = f"The call is not valid JSON: {error}."
        else:
            closing = self.closing.match(text, end)
            if closing or end == len(text):
                return request_of(value), closing.end() if closing else end
            problem = f"The call has more text after the object, at character {end - start}."
        closing = self.closing.search(text, start)
        return Request(problem=problem), closing.end() if closing else len(text)


class HermesFormat(MarkedFormat):
    """Calls as Hermes and Qwen models write them, ``<tool_call>{"name": ...}</tool_call>``.

    Results are between ``<tool_response>`` tags. In a chat each result is a message with the role
    ``tool``, which the models' chat templates put between those tags. The action is not changed,
    so the tokens of the next prompt begin with those of this one.
    """

    opening = re.compile("<tool_call>")
    closing = re.compile("</tool_call>")

    def instructions(self, functions: Sequence[Function]) -> str:
        """Return the schemas between ``<tools>`` tags, and the form of a call."""
        return (
            "You may call functions while you work. Their schemas are between the tools tags:\n"
            f"<tools>\n{schema_lines(functions)}\n</tools>\n"
            "A call is a JSON object with the function's name and its arguments, between "
            "tool_call tags:\n"
            '<tool_call>\n{"name": "function_name", "arguments": {"parameter": "value"}}\n'
            "</tool_call>\n"
            "A message may have several calls; it ends with the last of them. Their results come "
            "back in the same order, each between tool_response tags. A message without a call "
            "is your answer."
        )

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the outputs, each between ``<tool_response>`` tags."""
        return "\n".join(
            f"<tool_response>\n{output.rstrip()}\n</tool_response>" for output in outputs
        )

    def messages(self, reading: Reading, outputs: Sequence[str]) -> list[dict[str, Any]]:
        """Return the unchanged action, and a message with the role ``tool`` for each result."""
        results = [
            {"role": "tool", "name": request.function, "content": output.rstrip()}
            for request, output in zip(reading.requests, outputs, strict=True)
        ]
        return [{"role": "assistant", "content": reading.text}, *results]


class FencedFormat(MarkedFormat):
    """Calls in fenced blocks marked ``tool_call``, for models without their own call format.

    Results are in fenced blocks marked ``tool_result``.
    """

    opening = re.compile(r"^ {0,3}```tool_call[ \t]*$", re.MULTILINE)
    closing = re.compile("```")

    def instructions(self, functions: Sequence[Function]) -> str:
        """Return the schemas, and the form of a call."""
        return (
            "You may call functions while you work. Their schemas, one a line:\n"
            f"{schema_lines(functions)}\n"
            "A call is a block of this form, with the function's name and its arguments as JSON:\n"
            '```tool_call\n{"name": "function_name", "arguments": {"parameter": "value"}}\n```\n'
            "A message may have several such blocks; it ends with the last of them. Their results "
            "come back in the same order, each in a block marked tool_result. A message without "
            "such a block is your answer."
        )

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the outputs, each in a fence longer than any inside it."""
        return "\n".join(_fenced(output.rstrip()) for output in outputs)


def _fenced(text: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}tool_result\n{text}\n{fence}"
