"""What runs inside the sandbox to call a solution's functions: its text goes there as a program.

The first line of the standard input is a job in JSON: ``{"call": name, "arguments": [...]}``, or
``{"setup": statements, "evaluate": expression}``. The value goes to the standard output behind
``MARK``, after whatever the solution prints. What the value should be is not known here, so there
is nothing to find for a solution that looks around, and nothing to gain by printing the mark.
"""

import json
import os
import sys
import types

__all__ = ["MARK", "run"]

MARK = "\x1egem-code value: "
"""Stands before the value, at the start of a line."""


def run(solution: str) -> None:
    """Read a job, run the solution, do the job, write its value."""
    job = json.loads(sys.stdin.readline())
    module = types.ModuleType("solution")
    sys.modules["solution"] = module  # test programs may import from it
    exec(compile(solution, "solution.py", "exec"), module.__dict__)  # noqa: S102 - it is the point
    if "call" in job:
        value = _plain(_call(_find(module, job["call"]), job["arguments"]))
    else:
        exec(job["setup"], module.__dict__)  # noqa: S102
        value = eval(job["evaluate"], module.__dict__)  # noqa: S307
    _write(f"\n{MARK}{json.dumps(_encoded(value))}\n")


def _find(module: types.ModuleType, name: str) -> object:
    """Return a function of the module, or a method of its class ``Solution``."""
    name = name.rpartition(".")[2]
    if hasattr(module, name) or not hasattr(module, "Solution"):
        return getattr(module, name)
    return getattr(module.Solution(), name)


def _call(function: object, arguments: object) -> object:
    if isinstance(arguments, dict):
        return function(**arguments)  # type: ignore[operator]
    return function(*arguments)  # type: ignore[operator, misc]


def _plain(value: object) -> object:
    """Return a value as JSON knows it: tuples are lists, keys are texts."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _encoded(value: object) -> object:
    """Return a value in JSON; what JSON lacks is a mapping of its type's name to its content."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_encoded(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: [_encoded(item) for item in value]}
    return {"repr": repr(value)}


def _write(text: str) -> None:
    """Write past whatever the solution put in the place of ``sys.stdout``."""
    sys.stdout.flush()
    left = text.encode("utf-8", "backslashreplace")
    while left:
        left = left[os.write(1, left) :]
