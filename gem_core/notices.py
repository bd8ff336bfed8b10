"""Notices about slow components, and a context that keeps their output out of the results."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

__all__ = ["notice_after", "results_alone"]


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
def results_alone() -> Iterator[None]:
    """Send what components print, also below Python, to the standard error.

    The standard output of a command is for its results, which scripts read.
    """
    output = None
    with contextlib.suppress(OSError, ValueError):  # one of them is closed
        if sys.stdout is not None:
            sys.stdout.flush()
        output = os.dup(1)
        os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if output is not None:
            os.dup2(output, 1)
            os.close(output)
