"""``gem-core`` in the process of the tests, which costs no imports."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from gem_core.cli import main

__all__ = ["gem", "read_by_nobody"]


def gem(
    *words: object,
    cwd: str | Path = ".",
    stdin: str = "",
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command, and return its exit status and what it printed.

    A test of signals, terminals, imports or closed streams starts ``python -m gem_core`` instead.

    Args:
        words: The words after ``gem-core``.
        cwd: The working directory.
        stdin: The standard input.
        env: Further environment variables.
    """
    line = ["gem-core", *map(str, words)]
    with (
        _settings_kept(),
        contextlib.chdir(cwd),
        mock.patch("sys.argv", line),
        CliRunner().isolation(stdin, env) as (out, err, _),
    ):
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        printed, errors = out.getvalue().decode(), err.getvalue().decode()
    return subprocess.CompletedProcess(line, status, printed, errors)


def read_by_nobody(*words: object, cwd: str | Path = ".") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own; the reader of its standard output has gone.

    Args:
        words: The words after ``gem-core``.
        cwd: The working directory.
    """
    reader, output = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "gem_core", *map(str, words)],
            cwd=cwd,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(output)


@contextlib.contextmanager
def _settings_kept() -> Iterator[None]:
    """Restore what a command sets for its process: how Ctrl-C is handled, and Hydra's logging."""
    ctrl_c, root = signal.getsignal(signal.SIGINT), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, ctrl_c)
        root.handlers[:] = handlers
        root.setLevel(level)
