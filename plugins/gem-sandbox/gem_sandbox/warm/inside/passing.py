"""Descriptors sent from process to process along with a few bytes."""

import array
import socket
from collections.abc import Sequence

__all__ = ["receive", "send"]

_MOST = 8
_SIZE = array.array("i").itemsize


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
