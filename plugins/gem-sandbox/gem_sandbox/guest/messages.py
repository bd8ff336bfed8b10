"""Messages to and from the host on stdin and stdout: 4 bytes of length, then JSON."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

__all__ = ["receive", "send"]


def send(message: dict[str, Any]) -> None:
    """Write a message to the host."""
    body = json.dumps(message).encode()
    data = memoryview(struct.pack("!I", len(body)) + body)
    while data:
        data = data[os.write(1, data) :]


def receive() -> dict[str, Any] | None:
    """Read a message; None at the end of the input."""
    header = read_exactly(4)
    body = header and read_exactly(struct.unpack("!I", header)[0])
    message: dict[str, Any] | None = json.loads(body) if body else None
    return message


def read_exactly(length: int) -> bytes | None:
    """Read this many bytes from the host; None if its stream ends before."""
    parts = []
    while length:
        chunk = os.read(0, min(length, 1 << 20))
        if not chunk:
            return None
        parts.append(chunk)
        length -= len(chunk)
    return b"".join(parts)
