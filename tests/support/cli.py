"""``gem-core`` in the process of the tests, which costs no imports."""

import contextlib
import signal
import subprocess
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from gem_core.cli import main

__all__ = ["gem"]


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
        contextlib.chdir(cwd),
        mock.patch("sys.argv", line),
        CliRunner().isolation(stdin, env) as (out, err, _),
    ):
        status, handler = 0, signal.getsignal(signal.SIGINT)
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            signal.signal(signal.SIGINT, handler)  # a command leaves the one that ends the process
        printed, errors = out.getvalue().decode(), err.getvalue().decode()
    return subprocess.CompletedProcess(line, status, printed, errors)
