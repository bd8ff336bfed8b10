"""Converts the answers of servers to text for agents."""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from gem_core.content import Image
from gem_core.errors import ContentError
from gem_core.tool import ToolResult

__all__ = ["NO_OUTPUT", "cut", "error_result", "failed", "result_of"]

NO_OUTPUT = "The tool ran and returned no output."


def failed(why: str, **info: Any) -> ToolResult:
    """Return the result of a call that was not sent or not answered."""
    return ToolResult(f"[Tool execution failed: {why}]", ok=False, info=info)


def error_result(said: str, **info: Any) -> ToolResult:
    """Return the result of a call that the server answered with an error."""
    return ToolResult(f"[Tool execution error: {said}]", ok=False, info=info)


def result_of(answer: Any, *, longest_output: int, **info: Any) -> ToolResult:
    """Return the result of a call.

    Structured data replaces the text beside it, because servers send the same content twice. Images
    are in ``info["images"]``, and other data is described.

    Args:
        answer: The SDK's ``CallToolResult``.
        longest_output: Maximum number of characters that are shown; the middle is left out.
        info: Info of the result.
    """
    images: list[Image] = []
    structured = answer.structured_content
    said = [] if structured is None or answer.is_error else [_of_data(structured)]
    for block in answer.content:
        if block.type != "text" or structured is None or answer.is_error:
            said += _of_block(block, images)
    output = cut("\n".join(said), longest_output)
    if images:
        info["images"] = images
    if answer.is_error:
        return error_result(output or "the server gave no reason", **info)
    return ToolResult(output or NO_OUTPUT, info=info)


def _of_data(data: Any) -> str:
    """Return structured data as text; servers wrap values other than objects in one key."""
    if isinstance(data, dict) and set(data) == {"result"}:
        data = data["result"]
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)


def _of_block(block: Any, images: list[Image]) -> Iterator[str]:
    if block.type == "text":
        yield block.text
    elif block.type == "image":
        yield _of_image(block, images)
    elif block.type == "audio":
        yield f"[audio, {block.mime_type}, {_size(block.data):,} bytes]"
    elif block.type == "resource_link":
        yield f"[resource {block.name!r}: {block.uri}]"
    elif block.type == "resource":
        yield _of_resource(block.resource)
    else:
        yield f"[{block.type}]"


def _of_image(block: Any, images: list[Image]) -> str:
    try:
        images.append(Image.of(base64.b64decode(block.data, validate=True)))
    except (ContentError, binascii.Error, ValueError):
        return f"[image, {block.mime_type}, {_size(block.data):,} bytes, not readable]"
    return f"[image {len(images)}, {block.mime_type}, {len(images[-1].data):,} bytes]"


def _of_resource(resource: Any) -> str:
    if getattr(resource, "text", None) is not None:
        return f"[resource {resource.uri}]\n{resource.text}"
    kind = resource.mime_type or "binary"
    return f"[resource {resource.uri}, {kind}, {_size(resource.blob):,} bytes]"


def _size(encoded: str) -> int:
    """Return the number of bytes that a base64 text encodes."""
    return len(encoded.rstrip("=")) * 3 // 4


def cut(text: str, length: int) -> str:
    """Return a text of at most ``length`` characters, with the middle left out, and a note."""
    if len(text) <= length:
        return text
    head, tail = text[: length - length // 2], text[len(text) - length // 2 :]
    return f"{head}\n[... {len(text) - length:,} characters are left out here ...]\n{tail}"
