"""Descriptors sent from process to process along with a few bytes."""

import array
import ctypes
import os
import socket
import struct
from collections.abc import Sequence

from gem_sandbox.warm.inside import kernel

__all__ = ["LONGEST", "Slot", "receive", "send", "use"]

LONGEST = 1 << 14
"""Bytes of a message, at most."""
_MOST = 8
_SIZE = array.array("i").itemsize
_SPACE = socket.CMSG_SPACE(_MOST * _SIZE)
_SPACE_FOR_ONE, _BEFORE_ONE = socket.CMSG_SPACE(_SIZE), socket.CMSG_LEN(0)
_HEADER, _VECTOR = struct.Struct("@PIPNPNi"), struct.Struct("@PN")
"""``struct msghdr`` and ``struct iovec``."""


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


class Slot:
    """Where descriptors are received one at a time: see ``kernel.call`` for why it is made ahead.

    Args:
        channel: Descriptor of the socket that they come from.
    """

    def __init__(self, channel: int) -> None:
        byte = ctypes.create_string_buffer(1)
        extra = ctypes.create_string_buffer(_SPACE_FOR_ONE)
        vector = ctypes.create_string_buffer(_VECTOR.pack(ctypes.addressof(byte), 1))
        parts = ctypes.addressof(vector), 1, ctypes.addressof(extra), _SPACE_FOR_ONE
        message = ctypes.create_string_buffer(_HEADER.pack(0, 0, *parts, 0))
        self._kept = byte, vector
        self.descriptor = ctypes.c_int.from_buffer(extra, _BEFORE_ONE)
        """The last one that was received; -1 if there was none."""
        self.descriptor.value = -1
        self.receive = kernel.call("recvmsg", channel, message, 0)
        """Receive one, or learn that there will be none."""


def use(descriptors: Sequence[int]) -> None:
    """Have these descriptors, just received, as 0, 1, 2 and so on, and no others."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)  # they came later, so their own numbers are higher
    kernel.close_from(len(descriptors))
