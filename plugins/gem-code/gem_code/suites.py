"""Reads tests in the forms that datasets use.

The supported forms, each as a value or as JSON text, are:

- ``{"inputs": [...], "outputs": [...]}``: the program reads each input and prints the output; items
  are texts, numbers, or lists of lines. With ``"fn_name"``, the inputs are lists of arguments of
  that function (or of that method of a class ``Solution``), and the outputs are its values.
  ``"compare"`` names the comparison.
- ``[{"input": ..., "output": ...}, ...]``: the same as single tests, with an optional ``"fn_name"``
  each; if the input of a call is a text, each of its lines is a JSON value.
- a list of assertions, or the source of a test program.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gem_code.assertions import read_assertions
from gem_code.programs import TestProgram
from gem_code.unroll import Condition
from gem_core.errors import DataError

__all__ = ["Case", "Suite", "Tests", "read_suite"]

Tests = str | dict[str, Any] | list[Any]
"""The type of a column of tests."""


class Case(NamedTuple):
    """One test.

    Attributes:
        number: The index of the test in its row, from 0.
        stdin: The text sent to the sandbox: an input, or a job for ``gem_code.guest``.
        input: The value passed to a comparison: the input, the arguments, or the source of a test.
        golds: The accepted outputs or values; they never enter the sandbox.
        conditions: Instead of ``golds``, what must be true of the values of several calls.
        program: A program to run instead, in a process without the solution.
        forgeable: Whether the test runs in the process of the solution, which can forge its result.
    """

    number: int
    stdin: str
    input: Any
    golds: tuple[Any, ...] = ()
    conditions: tuple[Condition, ...] = ()
    program: TestProgram | None = None
    forgeable: bool = False


@dataclass(frozen=True)
class Suite:
    """The tests of a problem.

    Args:
        cases: The tests.
        calls: Whether the tests call functions, instead of running a program that prints.
        compare: The comparison that the data names, or None.
    """

    cases: tuple[Case, ...]
    calls: bool = False
    compare: str | None = None

    @property
    def forgeable(self) -> bool:
        """Whether a solution can forge the result of one of the tests."""
        return any(case.forgeable for case in self.cases)

    def longest(self, count: int | None) -> "Suite":
        """Return a suite of the ``count`` tests with the longest inputs, in the same order."""
        if count is None or len(self.cases) <= count:
            return self
        by_length = sorted(self.cases, key=lambda case: len(case.stdin), reverse=True)
        return replace(self, cases=tuple(sorted(by_length[:count], key=lambda case: case.number)))


def read_suite(tests: Tests, function: str = "") -> Suite:
    """Read the tests of a row.

    Args:
        tests: The value of the column of tests.
        function: The name of the tested function, if the tests do not name it.

    Raises:
        DataError: The tests have none of the supported forms, or there are none.
    """
    value = _decoded(tests)
    if isinstance(value, Mapping):
        suite = _from_lists(value, function)
    elif isinstance(value, str):
        suite = _from_assertions([value], function)
    elif value and all(isinstance(one, str) for one in value):
        suite = _from_assertions(value, function)
    else:
        suite = _from_dicts(value, function)
    if not suite.cases:
        raise DataError("there are no tests")
    return suite


def _decoded(tests: Tests) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    if not isinstance(tests, str):
        return tests
    try:
        value = json.loads(tests)
    except (ValueError, RecursionError):
        if tests.lstrip()[:1] in ("{", "["):
            raise DataError(f"the tests are incomplete or broken JSON: {tests[:60]!r}...") from None
        return tests
    if not isinstance(value, dict | list):
        raise DataError(f"tests must be a mapping, a list or a program; got {tests[:60]!r}")
    return value


def _from_lists(value: Mapping[str, Any], function: str) -> Suite:
    inputs, outputs = (_items(value, key) for key in ("inputs", "outputs"))
    if len(inputs) != len(outputs):
        raise DataError(f"there are {len(inputs)} inputs and {len(outputs)} outputs")
    name = value.get("fn_name") or function
    compare = value.get("compare")
    if name:
        return _calls(name, inputs, _unwrapped(outputs), compare)
    return _prints(inputs, outputs, compare)


def _items(value: Mapping[str, Any], key: str) -> list[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise DataError(f"tests need the lists 'inputs' and 'outputs'; these have {[*value]}")
    return items


def _from_dicts(value: Sequence[Any], function: str) -> Suite:
    inputs, outputs, names = [], [], set()
    for number, test in enumerate(value):
        if not isinstance(test, Mapping) or not {"input", "output"} <= test.keys():
            raise DataError(f"test {number} has no 'input' and 'output': {str(test)[:60]!r}")
        names.add(test.get("fn_name") or _function_of(test.get("metadata")) or function)
        inputs.append(test["input"])
        outputs.append(test["output"])
    if len(names) > 1:
        raise DataError(f"the tests call several functions: {sorted(names)}")
    name = "".join(names)
    if not name:
        return _prints(inputs, outputs)
    if all(isinstance(item, str) for item in inputs):
        outputs = [_value(output) for output in outputs]
    return _calls(name, inputs, _unwrapped(outputs))


def _function_of(metadata: Any) -> str:
    return str(metadata.get("func_name") or "") if isinstance(metadata, Mapping) else ""


def _prints(inputs: Sequence[Any], outputs: Sequence[Any], compare: str | None = None) -> Suite:
    cases = []
    for number, (given, expected) in enumerate(zip(inputs, outputs, strict=True)):
        text = _text(given, number)
        cases.append(Case(number, text, text, (_text(expected, number),)))
    return Suite(tuple(cases), compare=compare)


def _text(item: Any, number: int) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return "\n".join(map(str, item))
    if isinstance(item, int | float):
        return str(item)
    raise DataError(f"test {number} must be a text or a list of lines; got {type(item).__name__}")


def _calls(
    name: str, inputs: Sequence[Any], golds: Sequence[tuple[Any, ...]], compare: str | None = None
) -> Suite:
    cases = []
    for number, (given, gold) in enumerate(zip(inputs, golds, strict=True)):
        arguments = _arguments(given)
        job = json.dumps({"call": name, "arguments": arguments})
        cases.append(Case(number, job, arguments, gold))
    return Suite(tuple(cases), calls=True, compare=compare)


def _arguments(given: Any) -> list[Any] | dict[str, Any]:
    if isinstance(given, str):
        return [_value(line) for line in given.splitlines() if line.strip()]
    return given if isinstance(given, list | dict) else [given]


def _value(text: Any) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _unwrapped(outputs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the accepted values of each test: some datasets wrap every value in a list."""
    if all(isinstance(output, list) and len(output) == 1 for output in outputs):
        return [(output[0], output) for output in outputs]
    return [(output,) for output in outputs]


def _from_assertions(sources: Sequence[str], function: str) -> Suite:
    cases = []
    for number, test in enumerate(read_assertions(sources, function)):
        job = json.dumps({"setup": test.setup, "evaluate": test.calls})
        source = test.program.source if test.program else job
        cases.append(
            Case(
                number,
                source,
                test.text,
                conditions=test.conditions,
                program=test.program,
                forgeable=test.forgeable,
            )
        )
    return Suite(tuple(cases), calls=True)
