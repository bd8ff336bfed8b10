"""The code that runs inside the sandbox around a solution whose functions are called.

The source of this file is sent to the sandbox, followed by ``gem_job = gem_begin()``, the solution
and ``gem_end(gem_job)``; the prefix of its names keeps them apart from those of solutions. The
first line of the standard input is a job in JSON: ``{"call": name, "arguments": [...]}``, or
``{"setup": statements, "evaluate": expression}``. The value is written to the standard output after
``GEM_MARK``, behind the output of the solution. The expected value is not known here, so a solution
that inspects its process cannot find it, and gains nothing by printing the mark.
"""

import json as gem_json
import os as gem_os
import sys as gem_sys

GEM_MARK = "\x1egem-code value: "
"""The text before the value, at the start of a line."""


def gem_begin() -> dict:  # type: ignore[type-arg]
    """Read the job, and make the program importable as the module ``solution``."""
    main = gem_sys.modules["__main__"]
    gem_sys.modules["solution"] = main
    main.__name__ = "solution"  # skip what the solution does only as the main program
    return gem_json.loads(gem_sys.stdin.readline())  # type: ignore[no-any-return]


def gem_end(job: dict) -> None:  # type: ignore[type-arg]
    """Run the job and write its value."""
    names = gem_sys.modules["solution"].__dict__
    if "call" in job:
        value = gem_plain(gem_call(gem_find(names, job["call"]), job["arguments"]))
    else:
        exec(job["setup"], names)  # noqa: S102 - code of the tests
        value = eval(job["evaluate"], names)  # noqa: S307 - code of the tests
    gem_write(f"\n{GEM_MARK}{gem_json.dumps(gem_encoded(value))}\n")


def gem_find(names: dict, name: str) -> object:  # type: ignore[type-arg]
    """Return a function, or a method of the class ``Solution``."""
    name = name.rpartition(".")[2]
    if name in names or "Solution" not in names:
        return names[name]
    return getattr(names["Solution"](), name)


def gem_call(function: object, arguments: object) -> object:
    """Call a function with a list of arguments, or with a mapping of keyword arguments."""
    if isinstance(arguments, dict):
        return function(**arguments)  # type: ignore[operator]
    return function(*arguments)  # type: ignore[operator, misc]


def gem_plain(value: object) -> object:
    """Return a value as JSON represents it: tuples become lists, and keys become strings."""
    if isinstance(value, list | tuple):
        return [gem_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): gem_plain(item) for key, item in value.items()}
    return value


def gem_encoded(value: object) -> object:
    """Return a value for JSON; other types become a mapping from their name to their content."""
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
    """Write to the standard output, even if the solution has replaced ``sys.stdout``."""
    gem_sys.stdout.flush()
    left = text.encode("utf-8", "backslashreplace")
    while left:
        left = left[gem_os.write(1, left) :]
