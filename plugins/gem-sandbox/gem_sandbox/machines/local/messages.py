"""Messages between the host and a machine's first process: a few bytes and file descriptors."""

import marshal
import socket
import struct
from collections.abc import Sequence
from typing import Any

__all__ = ["LARGEST", "STATUS", "receive", "send"]

LARGEST = 1 << 17
"""Bytes of a message."""
STATUS = struct.Struct("=iQ?")
"""What is written when a job ends: its wait status, its peak memory in bytes, and whether it was
ended for the machine's memory."""
_MOST_DESCRIPTORS = 8


def send(channel: socket.socket, message: Any, descriptors: Sequence[int] = ()) -> None:
    """Send a message.

    Raises:
        ValueError: It has more than ``LARGEST`` bytes; nothing is sent.
        OSError: The channel is broken.
    """
    data = marshal.dumps(message)
    if len(data) > LARGEST:
        raise ValueError(f"a message has at most {LARGEST} bytes, and this one {len(data)}")
    socket.send_fds(channel, [data], list(descriptors))


def receive(channel: socket.socket) -> tuple[Any, list[int]]:
    """Receive a message; None at the end of the stream."""
    data, descriptors, *_ = socket.recv_fds(channel, LARGEST, _MOST_DESCRIPTORS)
    return (marshal.loads(data) if data else None), list(descriptors)  # noqa: S302 - ours
