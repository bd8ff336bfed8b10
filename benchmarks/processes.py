"""Processes that measure: each has a group of its own, and its helpers end with it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["offline", "start", "stop"]


def offline(words: Path) -> dict[str, str]:
    """Return the environment variables with which nothing is downloaded.

    Args:
        words: Folder of the words for gem-llm.
    """
    nowhere = "http://127.0.0.1:9"  # downloads that a library tries fail at once
    proxies = {"http_proxy": nowhere, "https_proxy": nowhere, "no_proxy": "127.0.0.1"}
    return {**os.environ, **proxies, "HF_HUB_OFFLINE": "1", "NLTK_DATA": str(words)}


def start(
    command: Sequence[str], environ: Mapping[str, str], **options: Any
) -> subprocess.Popen[str]:
    """Start a command whose standard output is read as text."""
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        start_new_session=True,
        **options,
    )


def stop(process: subprocess.Popen[str]) -> None:
    """Kill a process and its helpers, which would keep its pipes open, and close the pipes."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # what it never read
                stream.close()
