"""The loop inside a session's process: read a piece of Python, run it, report its exit status.

Limits are enforced from outside. The module is self-contained because it is also sent as source
text to places where gem-sandbox is not installed.
"""

from __future__ import annotations

import linecache
import os
import struct
import sys
import traceback
import types

__all__ = ["serve"]


def serve(asked: int, answers: int) -> None:
    """Run pieces until there are no more.

    Args:
        asked: A file descriptor to read from: for each piece its length (4 bytes, big endian),
            then its text in UTF-8.
        answers: A file descriptor to write to: for each piece its exit status in decimal and a
            newline.
    """
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = [""]
    owner = os.getpid()
    number = 0
    with os.fdopen(asked, "rb") as stream:
        while len(header := stream.read(4)) == 4:
            source = stream.read(struct.unpack("!I", header)[0]).decode("utf-8", "surrogatepass")
            number += 1
            status = run_cell(source, f"<run {number}>", main.__dict__)
            if os.getpid() != owner:  # a process that the piece forked ends here
                os._exit(status)
            os.write(answers, b"%d\n" % status)


def run_cell(source: str, name: str, namespace: dict[str, object]) -> int:
    """Run one piece and return its exit status; an exception is printed, not raised."""
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    try:
        exec(compile(source, name, "exec", dont_inherit=True), namespace)  # noqa: S102 - the purpose
        status = 0
    except SystemExit as error:
        status = exit_status(error.code)
    except BaseException as error:  # noqa: BLE001 - the session goes on
        print_error(error)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001 - the piece may have closed or replaced it
            status = status or 120
    return status


def exit_status(code: object) -> int:
    """Return the exit status of ``sys.exit(code)``; print ``code`` if it is a message."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    return 1


def print_error(error: BaseException) -> None:
    """Print a traceback without the frame of this module."""
    inner = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        traceback.print_exception(type(error), error, inner)
    except Exception:  # noqa: BLE001 - the piece may have replaced stderr
        os.write(2, type(error).__name__.encode("utf-8", "replace") + b"\n")
