"""Notices about slow components, and a context that keeps their output out of the results."""

import contextlib
import os
import select
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from gem_core.lifetimes import Lock

__all__ = ["is_closed_pipe", "notice_after", "print_result", "results_alone"]


@contextlib.contextmanager
def notice_after(seconds: float, text: str) -> Iterator[None]:
    """Write a line to the standard error if the context is still open after some seconds."""
    notice = threading.Timer(seconds, lambda: sys.stderr.write(f"{text}\n"))
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


@contextlib.contextmanager
def results_alone(*, until_exit: bool = False) -> Iterator[None]:
    """Send the output of components, also from below Python, to the standard error.

    The standard output of a command is for its results, which scripts read. ``print_result``
    prints them while the context is open. Contexts may be nested, and open in several threads.

    Args:
        until_exit: Whether the descriptor 1 stays the standard error until the process ends, so
            that exit handlers, threads and buffers of C libraries add nothing to the results.
    """
    with _lock:
        if not _open:
            _open.append(_take())
        _open.append(_open[0])
    try:
        yield
    finally:
        with _lock:
            _open.pop()
            if len(_open) == 1:
                _give_back(_open.pop(), descriptor_too=not until_exit)


def print_result(text: str) -> None:
    """Print a line on the standard output, also if ``results_alone`` has taken it."""
    with _lock:
        output = _open[0] if _open else _Output(sys.stdout, None)
    stream, descriptor = output
    if stream is None:  # it is closed
        return
    if descriptor is None or not _is_standard(stream):
        stream.write(f"{text}\n")
        stream.flush()
        return
    encoding, errors = stream.encoding, stream.errors
    try:
        with os.fdopen(os.dup(descriptor), "w", encoding=encoding, errors=errors) as file:
            file.write(f"{text}\n")
    except BrokenPipeError as error:
        error.add_note(_LOST)
        raise


def is_closed_pipe(error: BaseException) -> bool:
    """Return whether an error says that the reader of the standard output or error has gone."""
    if not isinstance(error, BrokenPipeError):
        return False
    if _LOST in getattr(error, "__notes__", ()) or not hasattr(select, "poll"):
        return True
    poll = select.poll()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor, or closed
            poll.register(stream.fileno(), 0)
    return bool(poll.poll(0))


class _Output(NamedTuple):
    """The standard output of the process.

    Args:
        stream: That of Python; None if it is closed.
        descriptor: A duplicate of the descriptor 1; None if that is closed.
    """

    stream: TextIO | None
    descriptor: int | None


def _take() -> _Output:
    stream, descriptor = sys.stdout, None
    with contextlib.suppress(OSError, ValueError):  # one of them is closed
        if stream is not None:
            stream.flush()
        descriptor = os.dup(1)
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    return _Output(stream, descriptor)


def _give_back(output: _Output, *, descriptor_too: bool) -> None:
    if output.descriptor is not None:
        if descriptor_too:
            os.dup2(output.descriptor, 1)
        os.close(output.descriptor)
    sys.stdout = output.stream


def _is_standard(stream: TextIO) -> bool:
    """Return whether a stream writes to the descriptor 1, unlike one that replaces it."""
    try:
        return stream.fileno() == 1
    except (OSError, ValueError, AttributeError):
        return False


_LOST = "The reader of the results has gone."
_lock = Lock()
_open: list[_Output] = []
"""The output that was taken, and once more for each context that is open."""
