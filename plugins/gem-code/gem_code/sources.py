"""The sources that are sent to the sandbox: a solution or a test program, with our code around."""

import functools
import importlib.resources
import json
import re
from collections.abc import Sequence
from typing import Any

from gem_code.programs import TestProgram

__all__ = ["called_solution", "printing_solution", "served_solution", "started_tests"]

_FUTURE = re.compile(r"^from\s+__future__\s+import\b\s*(?:\([^)]*\))?.*$", re.MULTILINE)
_NO_LIMIT = '__import__("sys").set_int_max_str_digits(0)'
_OWN_IMPORT = re.compile(r"^from gem_code\..*$", re.MULTILINE)


@functools.cache
def _own(*modules: str) -> str:
    """Return our code: the sources of some modules one after another."""
    folder = importlib.resources.files("gem_code")
    sources = (folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in modules)
    return _OWN_IMPORT.sub("", "\n".join(sources))


def _below(ours: str, code: str) -> str:
    """Return lines of ours and a solution, whose futures must be the first statements."""
    futures, solution = "\n".join(_FUTURE.findall(code)), _FUTURE.sub("", code)
    return f"{futures}\n{ours}\n{solution}\n"


def printing_solution(code: str) -> str:
    """Return a program that reads and prints, with integers of any number of digits."""
    return _below(_NO_LIMIT, code)


def called_solution(code: str) -> str:
    """Return a program that runs a job from the standard input with the functions of ``code``."""
    return f"{_beside(code, 'gem_the_job = gem_job()')}gem_end(gem_the_job)\n"


def _beside(code: str, before: str) -> str:
    return _below(f"{_own('plain', 'guest')}\ngem_begin()\n{before}", code)


def served_solution(code: str, names: Sequence[str], *, supply_names: bool) -> str:
    """Return the first piece of a session that answers requests about ``code``.

    Args:
        code: The solution.
        names: The names that it is asked for first.
        supply_names: Whether common names are provided that it does not import.
    """
    before = _supply(code) if supply_names else ""
    return f"{_beside(code, before)}gem_describe({list(names)!r})\n"


def started_tests(program: TestProgram, found: Any, secret: str) -> str:
    """Return the first piece of a session that runs a test program.

    Args:
        program: The program.
        found: What the solution has defined, as ``gem_describe`` writes it.
        secret: The start of the messages of the session.
    """
    names, known = list(program.names), json.dumps(found)
    given = f"{names!r}, {list(program.called)!r}, {known!r}, {secret!r}"
    start = f"gem_start({_quoted(program.source)}, {given})"
    return f"{_own('plain', 'tester')}\n{_supply(program.source, names)}\n{start}\n"


def _supply(source: str, without: Sequence[str] = ()) -> str:
    """Return a statement that supplies the common names of a program, as sandboxes do.

    Args:
        source: The source of the program.
        without: Names that it expects of a solution, which may lack them.
    """
    common = importlib.resources.files("gem_workers").joinpath("common_names.py")
    return (
        f"gem_supply({common.read_text(encoding='utf-8')!r}, {_quoted(source)}, {list(without)!r})"
    )


def _quoted(source: str) -> str:
    """Return a literal in which lines stay lines: a sandbox may look for imports at their start."""
    escaped = source.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""\\\n{escaped}"""'
