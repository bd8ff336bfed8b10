"""Runs the program that verifies a task.

The program is trusted code of the task set and runs with the rights of this process; it must never
come from an agent. It has a time limit, and its child processes end with it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gem_workers.cancellation import cancellable

__all__ = ["Verdict", "verify"]

_SHOWN = 2000
"""Number of characters of the output that are kept, from its end."""


class Verdict(NamedTuple):
    """The result of a verification.

    Args:
        correct: Whether the program exited with status 0.
        output: Output of the program.
    """

    correct: bool
    output: str


def verify(program: Path, folder: Path, *, answer: str, timeout: float) -> Verdict:
    """Run a verification.

    Args:
        program: A Python file. It finds the folder in ``FILESYSTEM_TEST_DIR``, and in
            ``MCP_MESSAGES`` a JSON file of the agent's last message.
        folder: Folder of the task.
        answer: The agent's last message.
        timeout: Seconds after which the program is killed.
    """
    message = {
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer}],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as messages:
        json.dump([message], messages)
        messages.flush()
        variables = {"FILESYSTEM_TEST_DIR": str(folder), "MCP_MESSAGES": messages.name}
        return _run([sys.executable, str(program)], folder, {**os.environ, **variables}, timeout)


def _run(command: list[str], folder: Path, variables: dict[str, str], timeout: float) -> Verdict:
    with subprocess.Popen(  # noqa: S603 - trusted, see above
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            with cancellable(partial(_kill, process.pid)):
                output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return Verdict(correct=False, output=f"The verification took over {timeout:g} s.")
        finally:
            _kill(process.pid)
    said = output.decode(errors="replace").strip()
    return Verdict(correct=process.returncode == 0, output=said[-_SHOWN:])


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
