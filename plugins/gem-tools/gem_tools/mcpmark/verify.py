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

from gem_tools.mcpmark.services import Service
from gem_workers.cancellation import cancellable

__all__ = ["Verdict", "missing_modules", "package_of", "verify"]

_RUNNER = Path(__file__).with_name("run_program.py")

_SHOWN = 2000
"""Number of characters of the output that are kept, from its end."""
_TRACEBACK = "Traceback (most recent call last):"
_OF_THE_WORK = re.compile(
    r"(\w+\.)*(Assertion|Attribute|FileNotFound|Index|IsADirectory|JSONDecode|Key|Lookup"
    r"|NotADirectory|Permission|Recursion|Type|Unicode\w*|Value)Error\b|StopIteration\b"
)
"""Exceptions that a program may raise about what an agent has left, or has not."""
_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_PACKAGES = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "github": "PyGithub",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Packages with another name than their module."""


class Verdict(NamedTuple):
    """The result of a verification.

    Args:
        correct: Whether the program exited with status 0.
        output: Output of the program.
        problem: Why there is no verdict: the program took too long, or ended with an exception that
            says nothing about the agent's work; empty if there is one.
        has_looked: Whether the program had looked at the agent's work or message before it ended.
    """

    correct: bool
    output: str
    problem: str = ""
    has_looked: bool = False

    @property
    def missing_module(self) -> str:
        """The module that could not be imported; empty if that is not the problem."""
        found = _MISSING.match(self.problem)
        return found[1] if found else ""


@functools.lru_cache(maxsize=1024)
def missing_modules(program: Path, *, later: bool = False) -> list[str]:
    """Return the modules that a program imports when it starts, and that are not installed.

    Modules beside the program count as installed; so do all, if it changes the search path.

    Args:
        program: The program.
        later: Also imports that happen later, or are optional.

    Raises:
        SyntaxError: This is not a program.
    """
    text = program.read_text(encoding="utf-8", errors="replace")
    names = set[str]()
    tree = ast.parse(text)
    for node in ast.walk(tree) if later else tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    if "sys.path" in text:
        return []
    beside = {path.stem for path in program.parent.iterdir()}
    return sorted(name for name in names - beside if importlib.util.find_spec(name) is None)


def package_of(module: str) -> str:
    """Return the name under which pip knows a module; if unknown, its own name with dashes."""
    return _PACKAGES.get(module, module.replace("_", "-"))


def verify(
    program: Path,
    service: Service,
    *,
    answer: str,
    timeout: float,
) -> Verdict:
    """Run a verification.

    Args:
        program: A Python file. It finds the agent's work by the variables of the service, and in
            ``MCP_MESSAGES`` a JSON file of the agent's last message.
        service: What is verified: what ``copy_for_verification`` or ``untouched`` yields.
        answer: The agent's last message.
        timeout: Seconds after which the program is killed.
    """
    message = {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer}],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as messages:
        json.dump([message], messages)
        messages.flush()
        variables = {**service.variables, "MCP_MESSAGES": messages.name}
        watched = [variables[name] for name in (*service.watched, "MCP_MESSAGES")]
        folder = service.folder or program.parent
        verdict = _run(program, folder, {**os.environ, **variables}, watched, timeout)
    return verdict._replace(has_looked=verdict.has_looked or service.was_seen())


def _run(
    program: Path, folder: Path, variables: dict[str, str], watched: list[str], timeout: float
) -> Verdict:
    looked, look = os.pipe()
    with os.fdopen(looked, "rb") as report:
        try:
            process = subprocess.Popen(  # noqa: S603 - trusted, see above
                [sys.executable, "-P", str(_RUNNER), str(look), str(program.resolve()), *watched],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[look],
            )
        finally:
            os.close(look)
        with process:
            try:
                with cancellable(partial(_kill, process.pid)):
                    output, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                output = None
            finally:
                _kill(process.pid)
        has_looked = bool(report.read(1))
    if output is None:
        late = f"The verification took over {timeout:g} s."
        return Verdict(False, late, late, has_looked)
    said = output.decode(errors="replace").strip()
    error = _error_in(said)
    is_defect = process.returncode and error and not _OF_THE_WORK.match(error)
    problem = error[-_SHOWN:] if is_defect else ""
    return Verdict(process.returncode == 0, said[-_SHOWN:], problem, has_looked)


def _error_in(said: str) -> str:
    """Return the line with the exception that ended a program; empty if none did."""
    _, found, trace = said.rpartition(_TRACEBACK)
    lines = trace.split("\n")[1:] if found else []
    return next((line for line in lines if line and not line[0].isspace()), "")


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
