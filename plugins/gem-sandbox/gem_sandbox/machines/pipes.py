"""The pipes between this process and a job of a machine."""

import contextlib
import fcntl
import os
import sys
import termios
import weakref
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

    A thread that reads them must hold a reference: then nobody closes them meanwhile.

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
        _all.add(self)
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

    def hold(self, descriptor: int) -> None:
        """Close another descriptor with these."""
        self._open.add(descriptor)

    def close(self, descriptor: int) -> None:
        """Close one end, if it is still open."""
        with contextlib.suppress(KeyError, OSError):
            self._open.remove(descriptor)
            os.close(descriptor)

    def close_all(self) -> None:
        """Close all ends that are open; may be called twice."""
        for descriptor in list(self._open):
            self.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_all()

    def __del__(self) -> None:
        self.close_all()  # as the garbage collector closes a file


def _close_inherited() -> None:
    """Close, in a fork, what belongs to the parent; or jobs would wait for the end of an input."""
    for pipes in list(_all):
        pipes.close_all()


_all: "weakref.WeakSet[Pipes]" = weakref.WeakSet()
os.register_at_fork(after_in_child=_close_inherited)
