"""What runs inside the sandbox, before and after a solution whose functions are called.

The text of this file goes there, with the solution between ``gem_job = gem_begin()`` and
``gem_end(gem_job)``; so all its names begin in a way that solutions do not use. The first line of
the standard input is a job in JSON: ``{"call": name, "arguments": [...]}``, or ``{"setup":
statements, "evaluate": expression}``. The value goes to the standard output behind ``GEM_MARK``,
after whatever the solution prints. What the value should be is not known here: there is nothing to
find for a solution that looks around, and nothing to gain by printing the mark.
"""

import json as gem_json
import os as gem_os
import sys as gem_sys

GEM_MARK = "\x1egem-code value: "
"""Stands before the value, at the start of a line."""


def gem_begin() -> dict:  # type: ignore[type-arg]
    """Read the job, and make the program a module that tests can import from."""
    main = gem_sys.modules["__main__"]
    gem_sys.modules["solution"] = main
    main.__name__ = "solution"  # what a solution does as a main program is not wanted
    return gem_json.loads(gem_sys.stdin.readline())  # type: ignore[no-any-return]


def gem_end(job: dict) -> None:  # type: ignore[type-arg]
    """Do the job, and write its value."""
    names = gem_sys.modules["solution"].__dict__
    if "call" in job:
        value = gem_plain(gem_call(gem_find(names, job["call"]), job["arguments"]))
    else:
        exec(job["setup"], names)  # noqa: S102 - the tests' own
        value = eval(job["evaluate"], names)  # noqa: S307 - likewise
    gem_write(f"\n{GEM_MARK}{gem_json.dumps(gem_encoded(value))}\n")


def gem_find(names: dict, name: str) -> object:  # type: ignore[type-arg]
    """Return a function, or a method of the class ``Solution``."""
    name = name.rpartition(".")[2]
    if name in names or "Solution" not in names:
        return names[name]
    return getattr(names["Solution"](), name)


def gem_call(function: object, arguments: object) -> object:
    """Call a function with a list of arguments, or a mapping of them by name."""
    if isinstance(arguments, dict):
        return function(**arguments)  # type: ignore[operator]
    return function(*arguments)  # type: ignore[operator, misc]


def gem_plain(value: object) -> object:
    """Return a value as JSON knows it: tuples are lists, keys are texts."""
    if isinstance(value, list | tuple):
        return [gem_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): gem_plain(item) for key, item in value.items()}
    return value


def gem_encoded(value: object) -> object:
    """Return a value in JSON; what JSON lacks is a mapping of its type's name to its content."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [gem_encoded(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[gem_encoded(key), gem_encoded(item)] for key, item in value.items()]}
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return {kind.__name__: [gem_encoded(item) for item in value]}
    return {"repr": repr(value)}


def gem_write(text: str) -> None:
    """Write past whatever the solution put in the place of ``sys.stdout``."""
    gem_sys.stdout.flush()
    left = text.encode("utf-8", "backslashreplace")
    while left:
        left = left[gem_os.write(1, left) :]
