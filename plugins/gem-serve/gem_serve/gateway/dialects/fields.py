"""Reading of requests: each refusal names the field."""

from collections.abc import Mapping, Sequence
from typing import Any

from gem_serve.gateway.events import CallError

__all__ = ["check_single", "items_of", "refuse", "stops_of", "text_of", "value_of", "whole_of"]


def refuse(field: str, message: str) -> CallError:
    """Return the error of a field of a request."""
    return CallError(400, f"{field}: {message}", field=field)


def value_of(
    body: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any
) -> Any:
    """Return a field of a request, or the default if it is missing or null."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(one.__name__ for one in kinds)
        raise refuse(name, f"expected {expected}, got {type(value).__name__}.")
    return value


def whole_of(body: Mapping[str, Any], *names: str) -> int | None:
    """Return the first of these fields that is given, a positive whole number."""
    for name in names:
        value: int | None = value_of(body, name, int, None)
        if value is not None:
            if value < 1:
                raise refuse(name, f"it must be at least 1, got {value}.")
            return value
    return None


def items_of(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a field that is a list of objects; an empty list if it is missing."""
    found = value_of(body, name, list, [])
    for number, one in enumerate(found):
        if not isinstance(one, dict):
            raise refuse(f"{name}[{number}]", f"expected an object, got {type(one).__name__}.")
    return list(found)


def stops_of(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the strings that end a reply."""
    found = value_of(body, name, (str, list), [])
    texts = [found] if isinstance(found, str) else found
    if not all(isinstance(one, str) for one in texts):
        raise refuse(name, "expected strings.")
    return tuple(one for one in texts if one)


def check_single(body: Mapping[str, Any], *names: str) -> None:
    """Refuse more than one reply to a request."""
    for name in names:
        if value_of(body, name, int, 1) != 1:
            raise refuse(name, "the gateway returns one reply to a request; ask several times.")


def text_of(content: Any, where: str, kinds: Sequence[str]) -> str:
    """Return the text of a message's content.

    Args:
        content: Text, None, or a list of parts.
        where: The field, for messages of errors.
        kinds: The types of parts that are text.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise refuse(where, f"expected text or a list of parts, got {type(content).__name__}.")
    texts = []
    for number, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind not in kinds:
            raise refuse(
                f"{where}[{number}]", f"parts of the type {kind!r} are not supported; send text."
            )
        text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):
            raise refuse(f"{where}[{number}].text", "expected text.")
        texts.append(text)
    return "".join(texts)
