"""One form for equal values, whatever wrote them: ``25`` and ``25.0``, any order of keys, sets."""

import hashlib
import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["canonical", "digest_of", "same"]

_PLACES = 9  # of decimals: sums of prices in another order differ later than this


def canonical(value: Any) -> Any:
    """Return a value as JSON types, such that equal values have equal forms.

    Numbers are equal if they agree to nine decimals; an integer equals a float of the same value,
    but not a truth value. Mappings lose the order of their keys. Sets become sorted lists, and
    tuples become lists.

    Args:
        value: Mappings, lists, tuples, sets, texts, numbers, truth values and None, nested.

    Raises:
        TypeError: It contains another type.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [canonical(one) for one in value]
    if isinstance(value, AbstractSet):
        return sorted((canonical(one) for one in value), key=_text)
    raise TypeError(f"A database holds JSON values; found a {type(value).__name__}: {value!r}.")


def _number(value: float) -> int | float | str:
    if not math.isfinite(value):
        return repr(value)
    rounded = round(value, _PLACES)
    return int(rounded) if rounded == int(rounded) else rounded


def same(one: Any, other: Any) -> bool:
    """Return whether two values have the same canonical form."""
    return bool(_text(canonical(one)) == _text(canonical(other)))


def digest_of(value: Any) -> str:
    """Return the SHA-256 of the canonical form of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(_text(canonical(value)).encode()).hexdigest()


def _text(form: Any) -> str:
    return json.dumps(form, ensure_ascii=False, separators=(",", ":"))
