"""The loop inside a session's process: read a piece of Python, run it, say how it ended.

It knows nothing of limits; whoever started it keeps them from outside. It is self-contained, as it
also travels as text into places where gem-sandbox is not installed.
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
    """Run what is asked for until there is no more.

    Args:
        asked: File descriptor to read from: for each piece its length (4 bytes, big endian), then
            its text in UTF-8.
        answers: File descriptor to write to: for each piece its exit status in decimal and a
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
            if os.getpid() != owner:  # what the piece has forked does not go on as the session
                os._exit(status)
            os.write(answers, b"%d\n" % status)


def run_cell(source: str, name: str, namespace: dict[str, object]) -> int:
    """Run one piece; return its exit status. Nothing is raised, an error is printed."""
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    try:
        exec(compile(source, name, "exec", dont_inherit=True), namespace)  # noqa: S102 - the purpose
        status = 0
    except SystemExit as error:
        status = exit_status(error.code)
    except BaseException as error:  # noqa: BLE001 - the session outlives whatever it is
        print_error(error)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001 - the piece may have closed or replaced it
            status = status or 120
    return status


def exit_status(code: object) -> int:
    """Return the status that ``sys.exit(code)`` stands for; a message is printed."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    return 1


def print_error(error: BaseException) -> None:
    """Print a traceback without this module's frame."""
    inner = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        traceback.print_exception(type(error), error, inner)
    except Exception:  # noqa: BLE001 - the piece may have replaced stderr
        os.write(2, type(error).__name__.encode("utf-8", "replace") + b"\n")
