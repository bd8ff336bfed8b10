"""Runs the program that verifies a task.

The program is trusted code of the task set and runs with the rights of this process; it must never
come from an agent. It has a time limit, and its child processes end with it.
"""

import ast
import contextlib
import functools
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gem_workers.cancellation import cancellable

__all__ = ["Verdict", "missing_modules", "verify"]

_SHOWN = 2000
"""Number of characters of the output that are kept, from its end."""
_TRACEBACK = "Traceback (most recent call last):"
_OF_THE_WORK = re.compile(
    r"(\w+\.)*(Assertion|Attribute|FileNotFound|Index|IsADirectory|JSONDecode|Key|Lookup"
    r"|NotADirectory|Permission|Recursion|Type|Unicode\w*|Value)Error\b|StopIteration\b"
)
"""Exceptions that a program may raise about what an agent has left, or has not."""


class Verdict(NamedTuple):
    """The result of a verification.

    Args:
        correct: Whether the program exited with status 0.
        output: Output of the program.
        problem: Why there is no verdict: the program took too long, or ended with an exception that
            says nothing about the agent's work; empty if there is one.
    """

    correct: bool
    output: str
    problem: str = ""


@functools.lru_cache(maxsize=1024)
def missing_modules(program: Path) -> list[str]:
    """Return the modules that a program imports when it starts, and that are not installed.

    Modules beside the program count as installed; so do all, if it changes the search path.

    Raises:
        SyntaxError: This is not a program.
    """
    text = program.read_text(encoding="utf-8", errors="replace")
    names = set[str]()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    if "sys.path" in text:
        return []
    beside = {path.stem for path in program.parent.iterdir()}
    return sorted(name for name in names - beside if importlib.util.find_spec(name) is None)


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
            late = f"The verification took over {timeout:g} s."
            return Verdict(correct=False, output=late, problem=late)
        finally:
            _kill(process.pid)
    said = output.decode(errors="replace").strip()
    last = said.rpartition("\n")[2]
    is_defect = process.returncode and _TRACEBACK in said and not _OF_THE_WORK.match(last)
    return Verdict(process.returncode == 0, said[-_SHOWN:], last[-_SHOWN:] if is_defect else "")


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
