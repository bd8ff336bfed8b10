"""Runs untrusted Python in a sandbox of gem-core."""

import functools
import re
from typing import Any

import gem_workers
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_workers.sandbox import SANDBOXES, Program

__all__ = [
    "CLI_ARG_SIZE_LIMIT",
    "DEFAULT_TIMEOUT",
    "ERROR_MSG_PREFIX",
    "check_forbidden_imports",
    "run_python",
    "sandbox_id",
    "shared_sandbox",
    "subprocess_run",
]

DEFAULT_TIMEOUT = 10
"""Default timeout of a program in seconds."""
CLI_ARG_SIZE_LIMIT = 3072
"""Kept for code that reads it; programs are not passed on a command line here."""
ERROR_MSG_PREFIX = "Failed to execute program: "

_FORBIDDEN_MODULES = "subprocess|multiprocessing|threading|socket|psutil|resource|ctypes"
_FORBIDDEN_CALLS = r"os\.(?:system|popen|spawn|fork|exec|_exit|kill)|sys\.exit"
_FORBIDDEN = re.compile(rf"\b(?:import|from)\s+(?:{_FORBIDDEN_MODULES})\b|{_FORBIDDEN_CALLS}")


def sandbox_id(sandbox_type: str) -> str:
    """Return the id of gem-core's sandbox for a type of gem-llm.

    Args:
        sandbox_type: ``none`` or ``bwrap``, which both mean the isolated ``warm``; or the id of
            another sandbox that is installed, such as ``docker`` or ``process``.

    Raises:
        ConfigError: It is none of these.
    """
    if sandbox_type in {"none", "bwrap"}:
        return "warm"
    ids = [spec.id for spec in default_registry().list(SANDBOXES)]
    if sandbox_type in ids:
        return sandbox_type
    raise ConfigError(
        f"sandbox_type is one of none, bwrap, {', '.join(ids)}; got {sandbox_type!r}."
    )


def shared_sandbox(sandbox_type: str) -> Any:
    """Return the sandbox of a type; the process has one of each.

    Raises:
        ConfigError: There is no such type.
    """
    return _made(sandbox_id(sandbox_type))


@functools.cache
def _made(identity: str) -> Any:
    return gem_workers.make_sandbox(identity)


def check_forbidden_imports(code: str) -> bool:
    """Return whether code names modules and functions that act outside the program.

    It is not a safeguard: programs run in a sandbox.
    """
    return _FORBIDDEN.search(code) is not None


def run_python(
    code: str, sandbox_type: str, stdin: str | None = None, timeout: float = DEFAULT_TIMEOUT
) -> tuple[bool, str, str]:
    """Run a program.

    Args:
        code: The program. Common names that it uses without importing them are supplied.
        sandbox_type: See ``sandbox_id``.
        stdin: Text for the standard input; None for an empty input.
        timeout: Seconds after which it is killed with its child processes.

    Returns:
        Whether it ended by itself and without an error; its standard output; and its standard
        error without surrounding space.

    Raises:
        ConfigError: There is no such sandbox; it is a ValueError.
    """
    sandbox = shared_sandbox(sandbox_type)
    if code.strip() == "...":  # a placeholder, which would succeed as a program
        return False, "", "SyntaxError: invalid syntax"
    program = Program(code, stdin=stdin or "", timeout=timeout, supply_names=True)
    execution = sandbox.run(program)
    errors = execution.stderr.strip()
    if execution.limit in ("wall_time", "cpu_time"):  # the timeout is the limit of both
        errors += f"\nExecution timed out after {timeout:g} seconds."
    elif execution.limit is not None:
        errors += f"\nExecution met the limit of {execution.limit.replace('_', ' ')}."
    return execution.ok, execution.stdout, errors.strip()


def subprocess_run(
    code: str,
    cmd_list: list[str],
    sandbox_type: str,
    stdin: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> tuple[bool, str, str]:
    """Run a program; see ``run_python``. ``cmd_list`` is ignored."""
    return run_python(code, sandbox_type, stdin, timeout)
