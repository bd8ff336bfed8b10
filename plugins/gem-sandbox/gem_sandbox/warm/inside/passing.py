"""Descriptors sent from process to process along with a few bytes."""

import array
import socket
import sys
from collections.abc import Sequence

__all__ = ["receive", "receive_one", "send"]

_MOST = 8
_SIZE = array.array("i").itemsize
_SPACE_FOR_ONE = socket.CMSG_SPACE(_SIZE)


def send(channel: socket.socket, message: bytes, descriptors: Sequence[int]) -> None:
    """Send bytes and descriptors."""
    passed = array.array("i", descriptors)
    channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)] if passed else [])


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Receive what was sent; no bytes at the end."""
    message, extra, _, _ = channel.recvmsg(64, socket.CMSG_SPACE(_MOST * _SIZE))
    passed = array.array("i")
    for _, _, content in extra:
        passed.frombytes(content[: len(content) - len(content) % _SIZE])
    return message, list(passed)


def receive_one(channel: socket.socket) -> int | None:
    """Receive one descriptor, None at the end; for those who are to touch little memory."""
    _, extra, _, _ = channel.recvmsg(1, _SPACE_FOR_ONE)
    return int.from_bytes(extra[0][2], sys.byteorder) if extra else None
