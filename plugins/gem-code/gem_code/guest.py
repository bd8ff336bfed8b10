"""The code that runs inside the sandbox around a solution whose functions are called.

The sources of ``plain.py`` and of this file are sent to the sandbox together with the solution; the
prefix of their names keeps them apart from those of solutions. Except for forgeable tests, nothing
here knows an expected value: only calls enter this process, and only values leave it, so a solution
that inspects its process or prints the mark gains nothing.

A test is either a job in JSON on the standard input, ``{"call": name, "arguments": [...]}`` (with
arguments in ``"encoded"`` instead if they have numbers that JSON cannot hold) or
``{"setup": statements, "evaluate": [expression, ...]}``; or a test program in another process asks
for one thing after another, see ``gem_answer``. The answer is written to the standard output after
``GEM_MARK``, behind the output of the solution.
"""

import itertools as gem_itertools
import json as gem_json
import os as gem_os
import sys as gem_sys
from collections.abc import Iterator as GemIterator
from collections.abc import MappingView as GemView
from typing import Any as GemAny

from gem_code.plain import GEM_ITEMS, GEM_KINDS, gem_decode, gem_encode

GEM_MARK = "\x1egem-code value: "
"""The text before the answer, at the start of a line."""
GEM_OBJECTS: GemAny = []
"""The objects that the other process knows by their number."""


def gem_begin() -> None:
    """Make the program importable as the module ``solution``."""
    main = gem_sys.modules["__main__"]
    gem_sys.modules["solution"] = main
    main.__name__ = "solution"  # skip what the solution does only as the main program
    gem_sys.set_int_max_str_digits(0)


def gem_job() -> GemAny:
    """Read the job."""
    return gem_json.loads(gem_sys.stdin.readline())


def gem_end(job: GemAny) -> None:
    """Run the job and write its value."""
    names = gem_sys.modules["solution"].__dict__
    if "call" in job:
        encoded = "encoded" in job
        given = gem_decode(job["encoded"], GEM_KINDS) if encoded else job["arguments"]
        value = gem_plain(gem_call(gem_find(names, job["call"]), given))
        gem_write(gem_encode(value, gem_foreign))
        return
    exec(job["setup"], names)  # noqa: S102 - code of the tests
    values = []
    for expression in job["evaluate"]:
        value = eval(expression, names)  # noqa: S307 - code of the tests
        values.append(gem_encode(value, gem_foreign))  # now: a later call may change it
    gem_write(values)


def gem_find(names: GemAny, name: GemAny) -> GemAny:
    """Return a function, or a method of the class ``Solution``."""
    name = name.rpartition(".")[2]
    if name in names or "Solution" not in names:
        return names[name]
    return getattr(names["Solution"](), name)


def gem_call(function: GemAny, arguments: GemAny) -> GemAny:
    """Call a function with a list of arguments, or with a mapping of keyword arguments."""
    if isinstance(arguments, dict):
        return function(**arguments)
    return function(*arguments)


def gem_plain(value: GemAny) -> GemAny:
    """Return a value as JSON represents it: tuples become lists, and keys become strings."""
    if isinstance(value, list | tuple):
        return [gem_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): gem_plain(item) for key, item in value.items()}
    return value


def gem_foreign(value: GemAny) -> GemAny:
    """Encode an iterator, or a value of an unknown type, which equals nothing."""
    if isinstance(value, (GemIterator, GemView)):
        items = gem_itertools.islice(value, GEM_ITEMS)  # type: ignore[arg-type]
        return {"iterator": [gem_encode(item, gem_foreign) for item in items]}
    return {"repr": repr(value)}


def gem_describe(names: GemAny) -> None:
    """Write those of some names that the solution has defined, with their values."""
    found = gem_sys.modules["solution"].__dict__
    gem_write({name: gem_described(found[name]) for name in names if name in found})


def gem_described(value: GemAny) -> GemAny:
    """Return the names of an exception and its bases, or the encoded form of another value."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return {"exception": [kind.__name__ for kind in value.__mro__]}
    return {"value": gem_encode(value, gem_number)}


def gem_number(value: GemAny) -> GemAny:
    """Encode an object that is not plain data by its number."""
    GEM_OBJECTS.append(value)
    return {"object": len(GEM_OBJECTS) - 1}


def gem_answer(request: GemAny) -> None:
    """Get an attribute of an object, or call it or its attribute, and write the result.

    Args:
        request: A JSON object: ``object`` (a number), ``get`` (the name of an attribute, or None),
            ``call`` (the encoded arguments, positional ones and those by name, or None) and
            ``arguments`` (whether the positional ones are wanted back).
    """
    request = gem_json.loads(request)
    kinds = {**GEM_KINDS, "object": GEM_OBJECTS.__getitem__}
    try:
        value, arguments = GEM_OBJECTS[request["object"]], []
        if request["get"] is not None:
            value = getattr(value, request["get"])
        if request["call"] is not None:
            arguments, named = gem_decode(request["call"], kinds)
            value = value(*arguments, **named)
        answer = {"value": gem_encode(value, gem_number)}
        if request["arguments"]:
            answer["arguments"] = gem_encode(arguments, gem_number)
    except BaseException as error:  # noqa: BLE001 - the test decides whether it is expected
        names = [kind.__name__ for kind in type(error).__mro__]
        given = gem_encode(list(error.args), gem_number)
        answer = {"raised": names, "with": given, "text": str(error)}
    gem_write(answer)


def gem_write(value: GemAny) -> None:
    """Write to the standard output, even if the solution has replaced ``sys.stdout``."""
    gem_sys.stdout.flush()
    left = f"\n{GEM_MARK}{gem_json.dumps(value)}\n".encode()
    while left:
        left = left[gem_os.write(1, left) :]
