"""Descriptors sent from process to process along with a few bytes."""

import array
import os
import socket
import sys
from collections.abc import Sequence

from gem_sandbox.warm.inside import kernel

__all__ = ["LONGEST", "receive", "receive_one", "send", "use"]

LONGEST = 1 << 14
"""Bytes of a message, at most."""
_MOST = 8
_SIZE = array.array("i").itemsize
_SPACE = socket.CMSG_SPACE(_MOST * _SIZE)
_SPACE_FOR_ONE = socket.CMSG_SPACE(_SIZE)


def send(channel: socket.socket, message: bytes, descriptors: Sequence[int]) -> None:
    """Send bytes and descriptors."""
    passed = array.array("i", descriptors)
    channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)] if passed else [])


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Receive what was sent; no bytes at the end."""
    message, extra, _, _ = channel.recvmsg(LONGEST, _SPACE)
    passed = extra[0][2] if extra else b""
    whole = len(passed) - len(passed) % _SIZE
    return message, list(memoryview(passed[:whole]).cast("i"))


def receive_one(channel: socket.socket) -> int | None:
    """Receive one descriptor, None at the end; for those who are to touch little memory."""
    _, extra, _, _ = channel.recvmsg(1, _SPACE_FOR_ONE)
    return int.from_bytes(extra[0][2], sys.byteorder) if extra else None


def use(descriptors: Sequence[int]) -> None:
    """Have these descriptors, just received, as 0, 1, 2 and so on, and no others."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)  # they came later, so their own numbers are higher
    kernel.close_from(len(descriptors))
