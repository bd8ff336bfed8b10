"""Send file descriptors to another process, together with a few bytes."""

import array
import ctypes
import os
import socket
import struct
from collections.abc import Sequence

from gem_sandbox.warm.guest import kernel

__all__ = ["MAX_MESSAGE", "DescriptorReceiver", "receive", "send", "use"]

MAX_MESSAGE = 1 << 14
"""The maximal number of bytes in a message."""
_MAX_DESCRIPTORS = 8
_SIZE = array.array("i").itemsize
_SPACE = socket.CMSG_SPACE(_MAX_DESCRIPTORS * _SIZE)
_SPACE_FOR_ONE, _BEFORE_ONE = socket.CMSG_SPACE(_SIZE), socket.CMSG_LEN(0)
_HEADER, _VECTOR = struct.Struct("@PIPNPNi"), struct.Struct("@PN")
"""``struct msghdr`` and ``struct iovec``."""


def send(channel: socket.socket, message: bytes, descriptors: Sequence[int]) -> None:
    """Send bytes and descriptors."""
    passed = array.array("i", descriptors)
    channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)] if passed else [])


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Receive bytes and descriptors; no bytes mean the end of the stream."""
    message, extra, _, _ = channel.recvmsg(MAX_MESSAGE, _SPACE)
    passed = extra[0][2] if extra else b""
    whole = len(passed) - len(passed) % _SIZE
    return message, list(memoryview(passed[:whole]).cast("i"))


class DescriptorReceiver:
    """Receives one descriptor at a time; made in advance, as ``kernel.call`` explains.

    Args:
        channel: The descriptor of the socket to receive from.
    """

    def __init__(self, channel: int) -> None:
        byte = ctypes.create_string_buffer(1)
        extra = ctypes.create_string_buffer(_SPACE_FOR_ONE)
        vector = ctypes.create_string_buffer(_VECTOR.pack(ctypes.addressof(byte), 1))
        parts = ctypes.addressof(vector), 1, ctypes.addressof(extra), _SPACE_FOR_ONE
        message = ctypes.create_string_buffer(_HEADER.pack(0, 0, *parts, 0))
        self._kept = byte, vector
        self.descriptor = ctypes.c_int.from_buffer(extra, _BEFORE_ONE)
        """The descriptor received last; -1 before the first."""
        self.descriptor.value = -1
        self.receive = kernel.call("recvmsg", channel, message, 0)
        """Receive a descriptor, or the end of the stream."""


def use(descriptors: Sequence[int]) -> None:
    """Renumber descriptors, just received, to 0, 1, 2 and so on, and close all others."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)  # received later, so their own numbers are higher
    kernel.close_from(len(descriptors))
