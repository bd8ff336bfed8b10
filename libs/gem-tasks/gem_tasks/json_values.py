"""JSON values as written: also integers of more digits than Python converts by default."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

__all__ = ["exact_json", "exact_json_at", "exact_repr"]


def _integer(digits: str) -> int:
    """Return an integer; a decimal number has no limit to its digits."""
    return int(Decimal(digits))


_USUAL, _LONG = json.JSONDecoder(), json.JSONDecoder(parse_int=_integer)


def exact_json(text: str) -> Any:
    """Return the value of a JSON text, with integers of any length.

    Raises:
        ValueError: It is not JSON, or its lists and objects are nested too deeply.
    """
    return _first_that_can(json.loads, _LONG.decode, text)


def exact_json_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that starts at a place of a text, and the place after it.

    Raises:
        ValueError: None starts there, or its lists and objects are nested too deeply.
    """
    return _first_that_can(_USUAL.raw_decode, _LONG.raw_decode, text, start)  # type: ignore[no-any-return]


def _first_that_can(usual: Callable[..., Any], long: Callable[..., Any], *arguments: Any) -> Any:
    try:
        try:
            return usual(*arguments)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer is too long for it
            return long(*arguments)
    except RecursionError:
        raise ValueError("lists and objects are nested too deeply") from None


def exact_repr(value: Any) -> str:
    """Return the ``repr`` of a value, in which integers of very many digits are hexadecimal."""
    try:
        return repr(value)
    except ValueError:
        return repr(_hexadecimal(value))


def _hexadecimal(value: Any) -> Any:
    if isinstance(value, int):
        return hex(value) if value.bit_length() > 10_000 else value
    if isinstance(value, list | tuple):
        return [_hexadecimal(item) for item in value]
    if isinstance(value, dict):
        return {_hexadecimal(key): _hexadecimal(item) for key, item in value.items()}
    return value
