"""Reads calls that models write as JSON: line breaks in texts are allowed, depth is limited."""

import json
import re
from typing import Any, NoReturn

from gem_core.calls.reading import Request

__all__ = ["DEEPEST", "json_at", "json_of", "request_of"]

DEEPEST = 64
"""Maximum number of nested lists and objects in a call."""
FORM = '{"name": "...", "arguments": {...}}'

_SPACE = re.compile(r"\s*")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Models write line breaks into strings, which strict JSON forbids.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def json_at(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the JSON value that begins at a position of a text, and the position after it.

    Raises:
        ValueError: There is no value, or it is nested deeper than ``DEEPEST``; the message is for
            the agent.
    """
    start = _end_of_space(text, start)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} (at character {error.pos - start})") from None
    except RecursionError:
        raise ValueError(f"more than {DEEPEST} levels of lists and objects") from None
    if _depth(value) > DEEPEST:
        raise ValueError(f"more than {DEEPEST} levels of lists and objects")
    return value, _end_of_space(text, end)


def json_of(text: str) -> Any:
    """Return the JSON value of a text; only space may surround it.

    Raises:
        ValueError: See ``json_at``; or there is more text after the value.
    """
    value, end = json_at(text)
    if end < len(text):
        raise ValueError(f"more text after the value (at character {end})")
    return value


def _end_of_space(text: str, start: int) -> int:
    return _SPACE.match(text, start).end()  # type: ignore[union-attr]


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, list | dict)]:
        depth += 1
        level = [
            inner for one in level for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return depth


def request_of(value: Any, request_id: str = "") -> Request:
    """Return the call in a JSON value: an object with ``name`` and ``arguments``.

    ``arguments`` may be missing, and may be the JSON text of an object.
    """
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return Request(id=request_id, problem=f"A call is a JSON object of the form {FORM}.")
    name, arguments = value["name"], value.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json_of(arguments) if arguments.strip() else {}
        except ValueError as error:
            return Request(
                name, id=request_id, problem=f"The arguments are not valid JSON: {error}."
            )
    if not isinstance(arguments, dict):
        problem = f"The arguments must be a JSON object, not {_kind(arguments)}."
        return Request(name, id=request_id, problem=problem)
    return Request(name, arguments, request_id)


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}.get(
        type(value), "a number"
    )
