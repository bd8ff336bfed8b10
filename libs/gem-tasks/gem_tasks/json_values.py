"""JSON values as written: also integers of more digits than Python converts by default."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

__all__ = [
    "RepeatedKeyError",
    "exact_digits",
    "exact_int",
    "exact_json",
    "exact_repr",
    "row_json",
    "row_json_at",
]


class RepeatedKeyError(ValueError):
    """An object has a key more than once, so that one of its values would be lost.

    Args:
        key: The key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} occurs twice in an object")


def exact_int(digits: str) -> int:
    """Return the integer of decimal digits, of which there may be any number."""
    return int(Decimal(digits))  # unlike an integer, a decimal number has no limit to its digits


def exact_digits(number: int) -> str:
    """Return the decimal digits of an integer, of which there may be any number."""
    return str(Decimal(number))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return found


_LONG = json.JSONDecoder(parse_int=exact_int)
_ROW = json.JSONDecoder(object_pairs_hook=_unique)
_LONG_ROW = json.JSONDecoder(object_pairs_hook=_unique, parse_int=exact_int)


def exact_json(text: str) -> Any:
    """Return the value of a JSON text, with integers of any length.

    Raises:
        ValueError: It is not JSON, or its lists and objects are nested too deeply.
    """
    return _first_that_can(json.loads, _LONG.decode, text)


def row_json(text: str) -> Any:
    """Return the value of a JSON text, whose objects must have each key once.

    Raises:
        RepeatedKeyError: An object has a key twice.
        ValueError: It is not JSON, or its lists and objects are nested too deeply.
    """
    return _first_that_can(_ROW.decode, _LONG_ROW.decode, text)


def row_json_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that starts at a place of a text, and the place after it.

    Raises:
        RepeatedKeyError: An object has a key twice.
        ValueError: None starts there, or its lists and objects are nested too deeply.
    """
    return _first_that_can(_ROW.raw_decode, _LONG_ROW.raw_decode, text, start)  # type: ignore[no-any-return]


def _first_that_can(usual: Callable[..., Any], long: Callable[..., Any], *arguments: Any) -> Any:
    try:
        try:
            return usual(*arguments)
        except (json.JSONDecodeError, RepeatedKeyError):
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
