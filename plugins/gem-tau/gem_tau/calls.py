"""How an agent calls functions: in the format ``json``, which needs nothing else, or any other."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.calls import CallFormat, FunctionFormat, Reading, Request
from gem_core.calls.written import json_of, request_of
from gem_core.errors import ConfigError
from gem_core.factory import make_call_format
from gem_core.observation import Action, Info, text_of
from gem_core.thoughts import spoken
from gem_core.tool import Function
from gem_tau.toolkit import CallResult

__all__ = ["JSON", "USER_RULES", "JsonCalls", "check_limits", "find_format", "read", "shown"]

_BLOCK = re.compile(
    r"\A(?P<before>.*?)```(?:json)?[ \t]*\n(?P<call>\s*\{.*?)\n?```\s*\Z", re.DOTALL
)
USER_RULES = (
    "You can use some functions yourself, such as the settings of your phone; the assistant "
    "cannot, and does not see their results. Use one when the assistant asks you to, and say what "
    "it shows. "
    "A call is all that you write in a turn: a JSON object and nothing else: "
    '{"name": "...", "arguments": {...}}. You will then see its result. The functions:'
)
"""The rules for a user who has tools."""
_HOW = (
    "In each turn, either write a message to the user, or call one function. A call is a JSON "
    'object and nothing else: {"name": "...", "arguments": {...}}. You will then see its result. '
    "The functions:"
)


class JsonCalls(FunctionFormat):
    """A call is the whole answer: a JSON object with ``name`` and ``arguments`` (or ``kwargs``).

    The object may stand in a block of code at the end of the answer.
    """

    def instructions(self, functions: Sequence[Function], *, rules: str = _HOW) -> str:
        """Return the instructions on how to call, with the schemas."""
        return "\n".join([rules, *(json.dumps(one.to_openai()["function"]) for one in functions)])

    def read(self, action: Action) -> Reading:
        """Return the call; a text that is not a JSON object is a message."""
        text = spoken(text_of(action))
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


JSON = JsonCalls()


def find_format(part: str | Mapping[str, Any] | CallFormat) -> FunctionFormat:
    """Return a call format from ``json``, another id, a mapping with an ``id``, or itself.

    Raises:
        ConfigError: It is ``tags``, which has no functions.
        UnknownIdError: There is no format with the id.
    """
    if part == "json":
        return JSON
    made = make_call_format(part)
    if not isinstance(made, FunctionFormat):
        raise ConfigError("call_format='tags' has no functions; use 'json', or another format.")
    return made


def check_limits(*, max_turns: int, max_errors: int, instructions: str) -> None:
    """Check parameters that environments with functions have in common.

    Raises:
        ConfigError: A limit is below 1, or ``instructions`` is neither ``text`` nor ``schemas``.
    """
    for name, value in {"max_turns": max_turns, "max_errors": max_errors}.items():
        if value < 1:
            raise ConfigError(f"{name} must be 1 or more; got {value!r}.")
    if instructions not in {"text", "schemas"}:
        raise ConfigError(f"instructions must be 'text' or 'schemas'; got {instructions!r}.")


def read(call_format: FunctionFormat, action: Action) -> tuple[FunctionFormat, Reading]:
    """Return the calls of an action, and the format that has read them.

    A call as in ``json`` is read with every format.
    """
    reading = call_format.read(action)
    if not reading.requests and call_format is not JSON:
        plain = JSON.read(action)
        if plain.requests:
            return JSON, plain
    return call_format, reading


def shown(
    tool: str, call_format: CallFormat, reading: Reading, results: Sequence[CallResult]
) -> tuple[str, Info]:
    """Return the observation after calls, and the info of the turn.

    Args:
        tool: The name of what has the functions.
        call_format: The format that has read the calls.
        reading: The calls.
        results: A result for each call.
    """
    outputs = [result.output for result in results]
    records = [
        {
            "tool": tool,
            "function": request.function,
            "arguments": dict(request.arguments),
            "id": request.id,
            **vars(result),
        }
        for request, result in zip(reading.requests, results, strict=True)
    ]
    return call_format.show(reading, outputs), {
        "use_tool": True,
        "tool_calls": records,
        "parsed_action": reading.text,
        "tool_messages": call_format.messages(reading, outputs),
    }
