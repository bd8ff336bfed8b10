"""JSON by orjson, and by the standard library where orjson refuses."""

import json
from typing import Any

import orjson

__all__ = ["read_json", "write_json"]

_write_slowly = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
read_json = orjson.loads


def write_json(value: Any) -> bytes:
    """Return a value as JSON in UTF-8, without spaces."""
    try:
        return orjson.dumps(value)
    except TypeError:  # keys that are no text, large integers, half a surrogate pair
        return _write_slowly(value).encode("utf-8", "replace")
