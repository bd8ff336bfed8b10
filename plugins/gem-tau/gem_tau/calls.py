"""The call format ``json``, which needs nothing else: an action is one call, or a message."""

import json
import re
from collections.abc import Sequence
from typing import Any

from gem_core.calls import BaseCallFormat, Reading, Request
from gem_core.calls.written import json_of, request_of
from gem_core.observation import Action, text_of
from gem_core.tool import Function

__all__ = ["JsonCalls"]

_BLOCK = re.compile(
    r"\A(?P<before>.*?)```(?:json)?[ \t]*\n(?P<call>\s*\{.*?)\n?```\s*\Z", re.DOTALL
)
_HOW = (
    "In each turn, either write a message to the user, or call one function. A call is a JSON "
    'object and nothing else: {"name": "...", "arguments": {...}}. You will then see its result. '
    "The functions:"
)


class JsonCalls(BaseCallFormat):
    """A call is the whole answer: a JSON object with ``name`` and ``arguments`` (or ``kwargs``).

    The object may stand in a block of code at the end of the answer.
    """

    def instructions(self, functions: Sequence[Function]) -> str:
        """Return how to call, with the schemas."""
        return "\n".join([_HOW, *(json.dumps(one.to_openai()["function"]) for one in functions)])

    def read(self, action: Action) -> Reading:
        """Return the call; a text that is not a JSON object is a message."""
        text = text_of(action)
        block = _BLOCK.match(text) if "```" in text else None
        written = block["call"] if block else text
        if not written.lstrip().startswith("{") or '"name"' not in written:
            return Reading(action, (), text)
        try:
            request = request_of(_renamed(json_of(written)))
        except ValueError as error:
            request = Request(problem=f"The call is not valid JSON: {error}.")
        return Reading(action, (request,), text, {"role": "assistant", "content": text})

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        """Return the output of the call."""
        return "\n".join(outputs)


def _renamed(value: Any) -> Any:
    if isinstance(value, dict) and "arguments" not in value and "kwargs" in value:
        return {**value, "arguments": value["kwargs"]}
    return value
