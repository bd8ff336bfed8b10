"""Tests as data sets write them, read into one form.

Understood are, as a value or as JSON in a text:

- ``{"inputs": [...], "outputs": [...]}``: a program reads each input and prints the output; items
  are texts, numbers, or lists of lines. With ``"fn_name"``, the inputs are lists of arguments of
  that function (or that method of a class ``Solution``), the outputs its values. ``"compare"``
  names the comparison that the problem needs.
- a list of such tests one by one, ``{"input": ..., "output": ...}``, with ``"fn_name"`` likewise;
  where the input of a call is a text, it is one JSON value a line.
- a list of assertions, or the text of a test program.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gem_code.assertions import read_assertions
from gem_core.errors import DataError

__all__ = ["Case", "Suite", "Tests", "read_suite"]

Tests = str | dict[str, Any] | list[Any]
"""Type of a column of tests."""


class Case(NamedTuple):
    """One test.

    Attributes:
        number: Its place among the tests of its row, from 0.
        stdin: What goes into the sandbox: an input, or a job for ``gem_code.inside``.
        input: What a comparison is told: the input, the arguments, or the expression.
        expected: The output or value that is right; it stays outside.
    """

    number: int
    stdin: str
    input: Any
    expected: Any


@dataclass(frozen=True)
class Suite:
    """The tests of a problem.

    Args:
        cases: The tests.
        calls: Whether they call functions, instead of running a program that reads and prints.
        compare: The comparison that the data asks for; None if it does not say.
    """

    cases: tuple[Case, ...]
    calls: bool = False
    compare: str | None = None

    def longest(self, count: int | None) -> "Suite":
        """Return the suite with only the ``count`` tests whose inputs are longest, in order."""
        if count is None or len(self.cases) <= count:
            return self
        by_length = sorted(self.cases, key=lambda case: len(case.stdin), reverse=True)
        return replace(self, cases=tuple(sorted(by_length[:count], key=lambda case: case.number)))


def read_suite(tests: Tests, function: str = "") -> Suite:
    """Read the tests of a row.

    Args:
        tests: The value of its column.
        function: Name of the function that is tested, where the tests do not say.

    Raises:
        DataError: They have no form that is understood, or there are none.
    """
    value = _decoded(tests)
    if isinstance(value, Mapping):
        suite = _from_lists(value, function)
    elif isinstance(value, str):
        suite = _from_jobs(read_assertions([value], function))
    elif value and all(isinstance(one, str) for one in value):
        suite = _from_jobs(read_assertions(value, function))
    else:
        suite = _from_dicts(value, function)
    if not suite.cases:
        raise DataError("there are no tests")
    return suite


def _decoded(tests: Tests) -> Any:
    """Return what a text holds in JSON, or the text, if it is none."""
    if not isinstance(tests, str):
        return tests
    try:
        value = json.loads(tests)
    except (ValueError, RecursionError):
        if tests.lstrip()[:1] in ("{", "["):
            raise DataError(f"the tests are cut or broken JSON: {tests[:60]!r}...") from None
        return tests
    if not isinstance(value, dict | list):
        raise DataError(f"tests are a mapping, a list or a program; got {tests[:60]!r}")
    return value


def _from_lists(value: Mapping[str, Any], function: str) -> Suite:
    inputs, outputs = (_items(value, key) for key in ("inputs", "outputs"))
    if len(inputs) != len(outputs):
        raise DataError(f"there are {len(inputs)} inputs and {len(outputs)} outputs")
    name = value.get("fn_name") or function
    compare = value.get("compare")
    if name:
        return _calls(name, zip(inputs, _unwrapped(outputs), strict=True), compare)
    return _prints(zip(inputs, outputs, strict=True), compare)


def _items(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise DataError(f"tests in a mapping need lists 'inputs' and 'outputs'; it has {[*value]}")
    return items


def _unwrapped(outputs: Sequence[Any]) -> Sequence[Any]:
    """Take off the list that some data sets put around every value."""
    wrapped = all(isinstance(output, list) and len(output) == 1 for output in outputs)
    return [_Either(output[0]) for output in outputs] if wrapped else outputs


class _Either:
    """A value that may be meant with or without a list around it."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _from_dicts(value: Sequence[Any], function: str) -> Suite:
    pairs, names = [], set()
    for number, test in enumerate(value):
        if not isinstance(test, Mapping) or not {"input", "output"} <= test.keys():
            raise DataError(
                f"test {number} is no mapping with 'input' and 'output': {str(test)[:60]!r}"
            )
        names.add(test.get("fn_name") or _function_of(test.get("metadata")) or function)
        pairs.append((test["input"], test["output"]))
    if len(names) > 1:
        raise DataError(f"the tests call several functions: {sorted(names)}")
    name = "".join(names)
    return _calls(name, iter(pairs), None) if name else _prints(iter(pairs), None)


def _function_of(metadata: Any) -> str:
    return str(metadata.get("func_name") or "") if isinstance(metadata, Mapping) else ""


def _prints(pairs: Iterator[tuple[Any, Any]], compare: str | None) -> Suite:
    cases = []
    for number, (given, expected) in enumerate(pairs):
        text = _text(given, number)
        cases.append(Case(number, text, text, _text(expected, number)))
    return Suite(tuple(cases), compare=compare)


def _text(item: Any, number: int) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return "\n".join(map(str, item))
    if isinstance(item, int | float):
        return str(item)
    raise DataError(f"test {number} has {type(item).__name__} where a text or a list of lines goes")
