"""Processes that measure: each has a process group, and its children end with it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

__all__ = ["WORKER", "in_rounds", "offline", "run_json", "start", "stop"]

WORKER = str(Path(__file__).resolve().parent.parent / "worker.py")


def offline(words: Path) -> dict[str, str]:
    """Return environment variables that prevent downloads.

    Args:
        words: Folder of the words for gem-llm.
    """
    nowhere = "http://127.0.0.1:9"  # downloads that a library tries fail immediately
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
    """Kill a process and its children, which would keep its pipes open, and close the pipes."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # the process never read its input
                stream.close()


def run_json(command: Sequence[str], environ: Mapping[str, str], timeout: float) -> Any:
    """Return the JSON value in the last line that a command prints.

    Raises:
        RuntimeError: It failed or took longer than ``timeout`` seconds.
    """
    process = start(command, environ, stderr=subprocess.PIPE)
    try:
        result, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no result within {timeout:g} s") from None
    finally:
        stop(process)
    if process.returncode:
        raise RuntimeError((errors.strip().splitlines() or ["it died"])[-1])
    return json.loads(result.strip().splitlines()[-1])


def in_rounds(
    rounds: int, work: Callable[[int], Iterable[tuple[str, Callable[[], object]]]]
) -> dict[str, str]:
    """Do the work of some rounds, and show the progress.

    Args:
        rounds: Number of rounds.
        work: Returns the work of a round, from its number: pairs of a title and a function. What
            raised ``RuntimeError`` is left out of later rounds.

    Returns:
        The messages of the errors by title.
    """
    todo = [(number, *one) for number in range(rounds) for one in work(number)]
    errors: dict[str, str] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(todo))
        for number, title, do in todo:
            progress.update(task, description=f"round {number + 1}: {title}")
            if title not in errors:
                try:
                    do()
                except RuntimeError as error:
                    errors[title] = str(error)
            progress.advance(task)
    return errors
