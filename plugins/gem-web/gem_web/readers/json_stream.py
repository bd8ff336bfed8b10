"""Reads the items of a JSON array one after the other: the files of WebShop have gigabytes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem_core.errors import DataError

__all__ = ["items_of", "read_json"]

_CHUNK = 1 << 20
_SPACE = " \t\r\n"


def items_of(path: Path) -> Iterator[Any]:
    """Yield the items of the array in a file.

    Raises:
        DataError: The file cannot be read, or it is not a JSON array.
    """
    decoder = json.JSONDecoder()
    try:
        with path.open(encoding="utf-8") as file:
            rest = file.read(_CHUNK).lstrip(_SPACE)
            if not rest.startswith("["):
                raise DataError(f"{path} is not a JSON array.")
            rest = rest[1:].lstrip(_SPACE)
            while not rest.startswith("]"):
                found = _first(decoder, rest)
                if found is not None:
                    item, rest = found
                    yield item
                elif more := file.read(max(_CHUNK, len(rest))):
                    rest = (rest + more).lstrip(_SPACE)
                else:
                    raise DataError(f"{path} is not valid JSON, or it is cut off.")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error


def _first(decoder: json.JSONDecoder, text: str) -> tuple[Any, str] | None:
    """Return the first item and the text after it; None if the text has to go on."""
    try:
        item, end = decoder.raw_decode(text)
    except ValueError:
        return None
    rest = text[end:].lstrip(_SPACE)
    if rest.startswith(","):
        after = rest[1:].lstrip(_SPACE)
        return (item, after) if after else None
    return (item, rest) if rest.startswith("]") else None  # a number may go on


def read_json(path: Path) -> Any:
    """Return the value in a file.

    Raises:
        DataError: The file cannot be read, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
