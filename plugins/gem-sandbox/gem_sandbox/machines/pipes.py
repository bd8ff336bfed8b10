"""The pipes between this process and a job of a machine."""

import contextlib
import fcntl
import os
import sys
import termios
from typing import Self

__all__ = ["Pipes", "bytes_waiting", "encoded"]


def bytes_waiting(descriptor: int) -> int:
    """Return how many bytes can be read from a pipe now."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def encoded(text: str) -> bytes:
    """Return a text in UTF-8, with the bytes for which it has surrogates; others become ``?``."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


class Pipes:
    """Pipes, of which a job gets one end each; what is open of them is closed at the end.

    Args:
        inputs: The number of pipes that the job reads from; the job's first descriptors.
        outputs: The number of pipes that it writes to.
    """

    def __init__(self, *, inputs: int, outputs: int) -> None:
        self.ours: list[int] = []
        """Our ends, which do not block."""
        self.theirs: list[int] = []
        """The job's ends."""
        self._open: set[int] = set()
        for number in range(inputs + outputs):
            reader, writer = os.pipe()
            ours, theirs = (writer, reader) if number < inputs else (reader, writer)
            os.set_blocking(ours, False)
            os.fchmod(theirs, 0o666)  # so that any user of the machine may open /dev/stdout
            self.ours.append(ours)
            self.theirs.append(theirs)
            self._open |= {ours, theirs}

    def started(self) -> None:
        """Close the job's ends; it has copies."""
        for descriptor in self.theirs:
            self.close(descriptor)

    def close(self, descriptor: int) -> None:
        """Close one end, if it is still open."""
        if descriptor in self._open:
            self._open.discard(descriptor)
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def close_all(self) -> None:
        """Close all ends that are open; may be called twice."""
        for descriptor in list(self._open):
            self.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_all()
