"""JSON by orjson where it is installed, by the standard library elsewhere."""

import json
from collections.abc import Callable
from typing import Any

__all__ = ["read_json", "write_json"]

_write_slowly = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _write(value: Any) -> bytes:
    return _write_slowly(value).encode("utf-8", "replace")  # half a surrogate pair is no text


try:
    import orjson
except ImportError:
    read_json: Callable[[bytes], Any] = json.loads
    write_json: Callable[[Any], bytes] = _write
else:
    read_json = orjson.loads

    def write_json(value: Any) -> bytes:
        """Return a value as JSON in UTF-8, without spaces."""
        try:
            return orjson.dumps(value)
        except TypeError:  # keys that are no text, large integers, half a surrogate pair
            return _write(value)
