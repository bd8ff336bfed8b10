"""Run probes of a repository where it stands, and print what was observed.

This file is a program of its own: its text runs in the Python of a machine, which has neither
gem-core nor anything that is expected. It reads ``{"tests": {path: source}, "seconds": number}``
from standard input, runs the tests in the working directory, and prints ``started`` and a line of
JSON for each test: ``[id, [[number of the probe, value], ...]]``, with values as ``_encoded``
writes them.

A test has so many seconds of processor time, which a loaded machine does not shorten. With
``"traced": {path: [function, ...]}`` a third number says at which depth of calls one of these
functions was first called, from 1; 0 if none was. An argument of the program limits its memory.
"""

import datetime as dt
import decimal
import fractions
import inspect
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_LONGEST = 20_000
"""The number of characters of an observation."""


class _LateError(BaseException):
    """A test has taken too long."""


class _Observer:
    """Notes the values of a test.

    ``observe(number, call)`` notes what the call returns or raises, and returns nothing.
    """

    def __init__(self, traced: set[tuple[str, str]]) -> None:
        self.notes: list[Any] = []
        self._traced, self._depth, self._found = traced, 0, 0

    def observe(self, number: int, call: Callable[[], Any]) -> None:
        if self._traced:
            self._depth = self._found = 0
            sys.setprofile(self._profile)
        try:
            note = _bounded(_encoded(call()))
        except _LateError:
            raise
        except BaseException as error:  # noqa: BLE001 - of any code
            note = _raised(error)
        finally:
            sys.setprofile(None)
        self.notes.append([number, note, self._found] if self._traced else [number, note])

    def _profile(self, frame: Any, event: str, _: Any) -> None:
        if event == "call":
            self._depth += 1
            place = frame.f_code.co_filename, frame.f_code.co_qualname
            if place in self._traced and not self._found:
                self._found = self._depth - 1  # less the lambda
        elif event == "return":
            self._depth -= 1


def _raised(error: BaseException) -> Any:
    names = [one.__name__ for one in type(error).__mro__[:-1]]
    try:
        text = str(error)[:500]
    except BaseException:  # noqa: BLE001 - of any code
        text = ""
    return {"raised": names, "message": text}


def _bounded(value: Any) -> Any:
    text = json.dumps(value)
    return value if len(text) <= _LONGEST else {"too long": len(text)}


def _encoded(value: Any) -> Any:
    """Return a value as JSON that tells types apart; ``gem_swe.observations`` reads it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    for kind, name, encode in _KINDS:
        if isinstance(value, kind):
            return {name: encode(value)}
    return {"object": type(value).__name__}


def _all(values: Iterable[Any]) -> list[Any]:
    return [_encoded(one) for one in values]


_KINDS: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (float, "float", float.__repr__),
    (bytes | bytearray, "bytes", lambda value: bytes(value).hex()),
    (decimal.Decimal, "decimal", decimal.Decimal.__str__),
    (fractions.Fraction, "fraction", lambda value: [value.numerator, value.denominator]),
    (dt.date | dt.time | dt.timedelta, "time", repr),
    (list, "list", _all),
    (tuple, "tuple", _all),
    (dict, "dict", lambda value: [_all(pair) for pair in value.items()]),
    (set | frozenset, "set", lambda value: sorted(_all(value), key=json.dumps)),
)


def _tests_of(
    name: str, source: str, traced: set[tuple[str, str]]
) -> Iterator[tuple[str, Callable[[], None], _Observer]]:
    """Yield the tests of a file: functions, and methods of ``unittest`` cases."""
    observer = _Observer(traced)
    module: dict[str, Any] = {"__name__": name, "__file__": name, "observe": observer.observe}
    exec(compile(source, name, "exec"), module)  # noqa: S102 - it is what this program is for
    for key, value in list(module.items()):
        if key.startswith("test_") and inspect.isfunction(value):
            yield f"{name}::{key}", value, observer
        elif inspect.isclass(value) and value.__module__ == name and hasattr(value, "assertEqual"):
            for method in vars(value):
                if method.startswith("test_"):
                    yield f"{name}::{key}::{method}", _of_case(value, method), observer


def _of_case(case: Any, method: str) -> Callable[[], None]:
    def run() -> None:
        made = case(method)
        made.setUp()
        try:
            getattr(made, method)()
        finally:
            made.tearDown()
            made.doCleanups()

    return run


def _run(test: Callable[[], None], observer: _Observer, seconds: float) -> list[Any]:
    observer.notes = notes = []
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        test()
    except _LateError:
        notes.append({"late": seconds})
    except BaseException as error:  # noqa: BLE001 - of any code
        notes.append({"stopped": _raised(error)})
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return notes


def main() -> None:
    """Run the probes that standard input has."""
    given = json.load(sys.stdin)
    seconds, top = float(given["seconds"]), os.getcwd()  # noqa: PTH109 - pathlib costs time
    named = given.get("traced") or {}
    traced = {(f"{top}/{path}", one) for path, names in named.items() for one in names}
    if sys.argv[1:]:
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
    out = os.fdopen(os.dup(1), "w")
    out.write("started\n")
    out.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # its prints are not observations
    sys.path.insert(0, top)

    def late(*_: object) -> None:
        raise _LateError

    signal.signal(signal.SIGPROF, late)
    for name, source in given["tests"].items():
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            tests = list(_tests_of(name, source, traced))
        except BaseException as error:  # noqa: BLE001 - of any code
            out.write(json.dumps([name, [{"stopped": _raised(error)}]]) + "\n")
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        for test_id, test, observer in tests:
            out.write(json.dumps([test_id, _run(test, observer, seconds)]) + "\n")
    out.flush()
    os._exit(0)  # without the exit handlers of the repository


if __name__ == "__main__":
    main()
