"""What an agent does on a machine: it sends commands to the shell, and writes files."""

import shlex
from typing import Any

from gem_core.errors import ConfigError, MachineError
from gem_terminal.terminal_text import plain_text
from gem_workers.machine import Machine, ShellResult, check_path

__all__ = ["ROOT", "send", "write_file"]

ROOT = {"root", "0"}
"""What the user is called that may do everything."""
_INTERRUPT = {"C-c", "^C", "\x03"}


def send(
    machine: Machine, command: str, directory: str | None, *, timeout: float, output_limit: int
) -> tuple[str, dict[str, Any]]:
    """Send a command to the machine's shell, or a line to the command that is running there.

    Args:
        machine: The agent's machine.
        command: The command, or ``C-c`` to interrupt one.
        directory: The shell's directory; None while a command is running.
        timeout: Seconds to wait.
        output_limit: Bytes of output to keep.

    Returns:
        What the agent reads, and the record for ``info["tool_calls"]``.
    """
    shell = machine.shell()
    if command.strip() in _INTERRUPT:
        result = shell.interrupt()
    else:
        text = command.replace("\0", "")
        typed = f"{text}\n" if text and directory is None else text
        result = shell.send(typed, timeout=timeout, output_limit=output_limit)
    record = {
        "output": _printed(result),
        "ok": result.exit_status == 0,
        "exit_status": result.exit_status,
        "directory": result.directory,
        "prompt": directory or "",
        "left_out": result.left_out,
    }
    return _shown(result, timeout), record


def write_file(machine: Machine, path: str, content: str) -> tuple[str, dict[str, Any]]:
    """Write a file with the rights of the machine's user; return as ``send`` does."""
    problem = ""
    try:
        check_path(path)
        if machine.spec.user in ROOT:
            machine.write(path, content)
        else:
            problem = _write_as_user(machine, path, content)
    except (ConfigError, MachineError) as error:
        problem = str(error)
    output = problem or f"Written: {path}"
    return output, {"output": output, "ok": not problem}


def _write_as_user(machine: Machine, path: str, content: str) -> str:
    """Return the error; empty for none."""
    place = shlex.quote(path)
    script = f'mkdir -p -- "$(dirname -- {place})" && cat > {place}'
    return machine.run(script, stdin=content, cwd="/").stderr.strip()


def _shown(result: ShellResult, waited: float) -> str:
    """Return the result of a command as the agent sees it."""
    text = _printed(result)
    if result.running:
        return f"{text}[still running after {waited:.0f} s]"
    return f"{text}[exit status {result.exit_status}, in {result.directory}]"


def _printed(result: ShellResult) -> str:
    """Return the output of a command as lines without escapes."""
    text = plain_text(result.text)
    return f"{text}\n" if text and not text.endswith("\n") else text
