"""JSON with orjson, and with the standard library for values that orjson refuses."""

import json
from typing import Any

import orjson

__all__ = ["read_json", "write_json"]

_write_slowly = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
read_json = orjson.loads


def write_json(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:  # keys that are not text, large integers, lone surrogates
        return _write_slowly(value).encode("utf-8", "replace")
