"""Values as JSON, so that the other side gets equal ones.

JSON has no tuples, bytes, sets, images, or keys that are not text. Such a value becomes
``{"$": KIND, "v": ...}``. A value of any other type becomes its ``repr``, as in files of
trajectories. Reading makes plain values only and runs no code.
"""

import base64
import json
from collections.abc import Callable
from typing import Any

from gem_core.content import Image
from gem_core.errors import ContentError
from gem_serve.errors import MessageError

__all__ = ["dumps", "from_wire", "loads", "plain", "to_wire"]

_TAG = "$"
_PLAIN = (str, bool, type(None), int, float)


def to_wire(value: Any) -> Any:
    """Return a value that JSON can hold and that ``from_wire`` turns back."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        if _TAG not in value and all(type(key) is str for key in value):
            return {key: to_wire(one) for key, one in value.items()}
        return _tagged("map", [[to_wire(key), to_wire(one)] for key, one in value.items()])
    if kind is list:
        return [to_wire(one) for one in value]
    return _other(value)


def _other(value: Any) -> Any:  # noqa: PLR0911 - one for each kind of value
    if isinstance(value, tuple):
        return _tagged("tuple", [to_wire(one) for one in value])
    if isinstance(value, bytes | bytearray):
        return _tagged("bytes", base64.b64encode(value).decode())
    if isinstance(value, frozenset | set):
        kind = "set" if isinstance(value, set) else "frozenset"
        return _tagged(kind, [to_wire(one) for one in sorted(value, key=repr)])
    if isinstance(value, dict):
        return to_wire(dict(value))
    if isinstance(value, list):
        return to_wire(list(value))
    for base in (str, bool, int, float):
        if isinstance(value, base):
            return base(value)
    try:
        return _tagged("image", Image.of(value).to_json())
    except ContentError:
        item: Any = getattr(value, "item", None)  # a number of numpy or torch
        return to_wire(item()) if callable(item) and not getattr(value, "shape", 1) else repr(value)


def _tagged(kind: str, value: Any) -> dict[str, Any]:
    return {_TAG: kind, "v": value}


_READERS: dict[str, Callable[[Any], Any]] = {
    "map": lambda found: {from_wire(key): from_wire(one) for key, one in found},
    "tuple": lambda found: tuple(map(from_wire, found)),
    "bytes": lambda found: base64.b64decode(found, validate=True),
    "set": lambda found: set(map(from_wire, found)),
    "frozenset": lambda found: frozenset(map(from_wire, found)),
    "image": lambda found: Image.of(str(found)) if str(found).startswith("data:") else None,
}


def from_wire(value: Any) -> Any:
    """Return the value that ``to_wire`` was given.

    Raises:
        MessageError: A tagged value is damaged or of an unknown kind.
    """
    if isinstance(value, list):
        return [from_wire(one) for one in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: from_wire(one) for key, one in value.items()}
    try:
        return _READERS[value[_TAG]](value["v"])
    except MessageError:
        raise
    except Exception as error:
        shown = repr(value)[:80]
        raise MessageError(f"{shown} is not a value of this protocol.") from error


def plain(value: Any) -> Any:
    """Return a value for clients of other protocols: JSON without tags, images as data URLs."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    wired = to_wire(value)
    return wired["v"] if isinstance(wired, dict) else wired


def dumps(message: Any) -> str:
    """Return a message as JSON, in ASCII."""
    return json.dumps(message, separators=(",", ":"))


def loads(text: str | bytes) -> dict[str, Any]:
    """Return the message that a text holds.

    Raises:
        MessageError: The text is not JSON, or not an object.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"A message is a JSON object; this is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise MessageError(f"A message is a JSON object; got {type(message).__name__}.")
    return message
