"""How a process ended, as a room tells its supervisor."""

import ctypes
import struct

from gem_sandbox.warm.inside import kernel

__all__ = ["End", "unpack_end"]

_END = struct.Struct("=c3xi18q")
"""What it was, its wait status, and ``struct rusage``: user and system time, most KiB, others."""
_STATUS, _USAGE = 4, 8


class End:
    """The end of one process after the other: see ``kernel.call`` for why it is made once.

    Args:
        kind: ``TEST``, or ``END`` of a whole program.
        link: Descriptor of the socket to tell it over.
    """

    def __init__(self, kind: bytes, link: int) -> None:
        message = ctypes.create_string_buffer(kind, _END.size)
        self._status = ctypes.c_int.from_buffer(message, _STATUS)
        usage = ctypes.c_char.from_buffer(message, _USAGE)
        parts = ctypes.byref(self._status), 0, ctypes.byref(usage)
        self.wait = kernel.call("wait4", -1, *parts)
        """Wait for the end of any child; return which it was, or -1 after a signal."""
        self.tell = kernel.call("write", link, message, _END.size)
        """Tell it; -1 if nobody listens."""

    @property
    def status(self) -> int:
        """Wait status."""
        return self._status.value


def unpack_end(kind: bytes, message: bytes) -> tuple[int, int, float]:
    """Return how a process ended: its wait status, most bytes and seconds of CPU time.

    Raises:
        ValueError, struct.error: It is no such message, or of another kind.
    """
    found, status, user, user_us, system, system_us, peak, *_ = _END.unpack(message)
    if found != kind:
        raise ValueError(f"the end of {found!r}, not of {kind!r}")
    return status, peak << 10, user + system + (user_us + system_us) / 1e6
