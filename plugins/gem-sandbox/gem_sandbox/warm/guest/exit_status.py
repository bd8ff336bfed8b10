"""How an isolation scope reports the end of a process to its supervisor."""

import ctypes
import struct

from gem_sandbox.warm.guest import kernel

__all__ = ["ExitReport", "unpack_exit_report"]

_REPORT = struct.Struct("=c3xi18q")
"""Kind, wait status, and ``struct rusage``: user and system time, peak memory in KiB, others."""
_STATUS, _USAGE = 4, 8


class ExitReport:
    """Waits for one process after another; made once, as ``kernel.call`` explains.

    Args:
        kind: ``TEST`` for the end of a test, ``END`` for the end of a whole program.
        link: The descriptor of the socket to report to.
    """

    def __init__(self, kind: bytes, link: int) -> None:
        message = ctypes.create_string_buffer(kind, _REPORT.size)
        self._status = ctypes.c_int.from_buffer(message, _STATUS)
        usage = ctypes.c_char.from_buffer(message, _USAGE)
        parts = ctypes.byref(self._status), 0, ctypes.byref(usage)
        self.wait = kernel.call("wait4", -1, *parts)
        """Wait for the end of any child; return its process id, or -1 after a signal."""
        self.send = kernel.call("write", link, message, _REPORT.size)
        """Send the report; returns -1 if the supervisor is gone."""

    @property
    def status(self) -> int:
        """The wait status of the last process."""
        return self._status.value


def unpack_exit_report(kind: bytes, message: bytes) -> tuple[int, int, float]:
    """Return the wait status of a process, its peak memory in bytes and its seconds of CPU time.

    Raises:
        ValueError, struct.error: This is not a report, or not of this kind.
    """
    found, status, user, user_us, system, system_us, peak, *_ = _REPORT.unpack(message)
    if found != kind:
        raise ValueError(f"a report of kind {found!r}, not {kind!r}")
    return status, peak << 10, user + system + (user_us + system_us) / 1e6
