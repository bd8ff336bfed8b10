"""``gem-core`` for tests: each command is a fork of one process that has done the imports.

Importing takes most of the time of a short command. A test that runs the list of words of
``gem_command()``, or ``gem-core`` from the folder ``gem_bin()``, has a process with its own
arguments, environment, working directory, streams and exit status, as from ``python -m gem_core``.
The real interpreter is started where that could make a difference (see ``gem_client.py``). Tests
that send signals to the process or look at its imports start it themselves.
"""

import atexit
import functools
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

__all__ = ["gem_bin", "gem_command"]

_HERE = Path(__file__).parent


def gem_command() -> list[str]:
    """Return the words that start ``python -m gem_core``."""
    if sys.platform != "linux":
        return [sys.executable, "-m", "gem_core"]
    server, client = _start()
    status = server.poll()
    assert status is None, f"an earlier test has ended the server of commands: status {status}"
    return [*client, ""]


@functools.cache
def gem_bin() -> str:
    """Return a folder with the program ``gem-core``, for ``PATH``."""
    scripts = sysconfig.get_path("scripts")
    if sys.platform != "linux":
        return scripts
    _, client = _start()
    words = " ".join(f"'{word}'" for word in [*client, scripts])
    program = Path(client[-1]).with_name("gem-core")
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return str(program.parent)


@functools.cache
def _start() -> tuple["subprocess.Popen[bytes]", list[str]]:
    """Start the server, which ends with this process; return it and the words of its client."""
    folder = tempfile.TemporaryDirectory(prefix="gem-core-")
    address = f"{folder.name}/socket"
    server = subprocess.Popen(
        [sys.executable, str(_HERE / "gem_server.py"), address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads do not survive a fork
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    def end() -> None:
        server.communicate()
        folder.cleanup()

    atexit.register(end)
    return server, [sys.executable, "-IS", str(_HERE / "gem_client.py"), address]
