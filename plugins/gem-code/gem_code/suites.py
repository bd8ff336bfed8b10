r"""Reads tests in the forms that datasets use.

The supported forms, each as a value or as JSON text, are:

- ``{"inputs": [...], "outputs": [...]}``: the program reads each input and prints the output; items
  are texts, numbers, or lists of lines. With ``"fn_name"``, the inputs are lists of arguments of
  that function (or of that method of a class ``Solution``), and the outputs are its values, which
  are compared as in Python: ``true`` is 1, and 1 is 1.0; a tuple is a list. ``"compare"`` names the
  comparison.
- ``[{"input": ..., "output": ...}, ...]``: the same as single tests, with an optional ``"fn_name"``
  each.
- a list of assertions, or the source of a test program.

Many datasets write calls as texts: each line of an input is the JSON of an argument, and the output
is the JSON of the value (``"[1, 2, 3]\n2"`` and ``"5"``). This is how calls are read if all inputs
and all outputs are texts, and each line of each input is JSON. If an output then is not JSON, all
outputs are texts. Inputs of one line, of which one is not JSON, are arguments that are texts. Other
inputs that are texts are read if they have several lines, all of them JSON, and rejected if not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gem_code.assertions import read_assertions
from gem_code.plain import GEM_LONG, gem_encode
from gem_code.programs import TestProgram
from gem_code.unroll import Condition
from gem_core.errors import DataError
from gem_tasks.json_values import exact_digits, exact_json

__all__ = ["Case", "Setup", "Suite", "Tests", "read_suite"]

Tests = str | dict[str, Any] | list[Any]
"""The type of a column of tests."""
Setup = str | list[str]
"""The type of a column of code that precedes the tests."""


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


def read_suite(tests: Tests, function: str = "", setup: Setup = "") -> Suite:
    """Read the tests of a row.

    Args:
        tests: The value of the column of tests.
        function: The name of the tested function, if the tests do not name it.
        setup: Code to run before assertions.

    Raises:
        DataError: The tests have none of the supported forms, or there are none; or there is a
            setup, and they are not assertions.
    """
    value = _decoded(tests)
    before = [setup] if isinstance(setup, str) else setup
    if isinstance(value, Mapping):
        suite = _from_lists(value, function)
    elif isinstance(value, str):
        suite = _from_assertions([*before, value], function)
    elif value and all(isinstance(one, str) for one in value):
        suite = _from_assertions([*before, *value], function)
    else:
        suite = _from_dicts(value, function)
    if not suite.cases:
        raise DataError("there are no tests")
    if any(map(str.strip, before)) and not suite.cases[0].conditions and not suite.cases[0].program:
        raise DataError("only assertions have a setup, and these tests are inputs and outputs")
    return suite


def _decoded(tests: Tests) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    if not isinstance(tests, str):
        return tests
    try:
        value = exact_json(tests)
    except ValueError:
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
        return _calls(name, inputs, outputs, compare)
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
    return _calls(name, inputs, outputs) if name else _prints(inputs, outputs)


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
        return "\n".join(map(_digits, item))
    if isinstance(item, int | float):
        return _digits(item)
    raise DataError(f"test {number} must be a text or a list of lines; got {type(item).__name__}")


def _digits(item: Any) -> str:
    is_long = isinstance(item, int) and item.bit_length() > GEM_LONG
    return exact_digits(item) if is_long else str(item)


def _calls(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any], compare: str | None = None
) -> Suite:
    if inputs and all(isinstance(given, str) for given in inputs):
        inputs, golds = _of_texts(inputs, outputs)
    else:
        golds = _unwrapped(outputs)
    cases = []
    for number, (given, gold) in enumerate(zip(inputs, golds, strict=True)):
        arguments = given if isinstance(given, list | dict) else [given]
        accepted = tuple(map(_without_tuples, gold))
        cases.append(Case(number, _job(name, arguments), arguments, accepted))
    return Suite(tuple(cases), calls=True, compare=compare)


def _without_tuples(value: Any) -> Any:
    """Return a value with lists for tuples, as values of programs arrive."""
    if isinstance(value, list | tuple):
        return [*map(_without_tuples, value)]
    if isinstance(value, dict):
        return {key: _without_tuples(item) for key, item in value.items()}
    return value


def _of_texts(
    inputs: Sequence[str], outputs: Sequence[Any]
) -> tuple[list[list[Any]], list[tuple[Any, ...]]]:
    """Return the arguments and the accepted values of calls whose inputs are texts.

    Raises:
        DataError: The inputs could be JSON or arguments that are texts.
    """
    lines = [[line for line in given.splitlines() if line.strip()] for given in inputs]
    values = [_values(one) for one in lines]
    if None in values or not all(values):
        if any(len(one) > 1 for one in lines):
            number = next(number for number, one in enumerate(values) if not one)
            raise DataError(
                f"test {number}: not every line of the input {inputs[number][:60]!r} is JSON, so "
                f"where an argument ends is unclear; write each input as a list of arguments"
            )
        return [[given] for given in inputs], _unwrapped(outputs)
    arguments = [one for one in values if one is not None]
    if all(isinstance(output, str) for output in outputs):
        return arguments, [(output,) for output in _values(outputs) or outputs]
    if all(len(one) == 1 for one in lines):
        raise DataError(
            f"test 0: the input {inputs[0][:60]!r} is JSON and the output is not a text, so it is "
            f"unclear whether the argument is a text; write each input as a list of arguments"
        )
    return arguments, _unwrapped(outputs)


def _values(texts: Sequence[str]) -> list[Any] | None:
    """Return the values of JSON texts; None if one is not JSON."""
    try:
        return [exact_json(text) for text in texts]
    except ValueError:
        return None


def _job(name: str, arguments: Any) -> str:
    """Return the job of a call; numbers that JSON cannot hold are encoded like values."""
    try:
        return json.dumps({"call": name, "arguments": arguments})
    except ValueError:  # an integer of many digits
        return json.dumps({"call": name, "encoded": gem_encode(arguments, _unknown)})


def _unknown(value: Any) -> Any:
    raise DataError(f"a test cannot pass a {type(value).__name__} to a function")


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
