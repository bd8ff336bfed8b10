"""Assertions about a solution, split into expressions and expected values.

``assert f(2) == 4`` becomes the expression ``f(2)`` and the value 4, so the value need not enter
the sandbox. Without a literal to compare with, as in ``assert abs(f(2) - 4) < 0.1``, the whole
condition is the expression, and the expected value is True.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gem_core.errors import DataError

__all__ = ["Assertion", "read_assertions"]


class Assertion(NamedTuple):
    """One test: code to run, and the value that it should have.

    Attributes:
        setup: Statements to run first.
        expression: The expression to evaluate after them.
        gold: The expected value of the expression.
    """

    setup: str
    expression: str
    gold: Any


def read_assertions(sources: Sequence[str], function: str = "") -> list[Assertion]:
    """Read assertions, or a whole test program.

    Each ``assert`` at the top level is a test, and so is each function ``test...()``; the other
    top-level statements before it are its setup. A program with neither is a single test, which
    calls ``check`` with the tested function if the program defines it.

    Args:
        sources: Consecutive pieces of a program.
        function: The name of the tested function, for ``check``.

    Raises:
        DataError: The sources are not valid Python.
    """
    try:
        body = [part for source in sources for part in ast.parse(source).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the tests are not valid Python: {error}") from None
    found = [*_of_asserts(body), *_of_functions(body)]
    return found if found or not body else [_whole(body, function)]


def _of_asserts(body: Sequence[ast.stmt]) -> Iterator[Assertion]:
    setup: list[ast.stmt] = []
    for part in body:
        if isinstance(part, ast.Assert):
            expression, gold = _split(part.test)
            yield Assertion(_source(setup), ast.unparse(expression), gold)
        else:
            setup.append(part)


def _split(test: ast.expr) -> tuple[ast.expr, Any]:
    """Return the expression to evaluate and its expected value."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        sides = (test.left, test.comparators[0])
        for ours, theirs in (sides, sides[::-1]):
            try:
                return ours, ast.literal_eval(theirs)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue
    truth = ast.Call(ast.Name("bool", ast.Load()), [test], [])
    return truth, True


def _of_functions(body: Sequence[ast.stmt]) -> Iterator[Assertion]:
    setup = [part for part in body if not isinstance(part, ast.Assert)]
    for part in body:
        if isinstance(part, ast.FunctionDef) and part.name.startswith("test"):
            yield Assertion(_source(setup), f"({part.name}(), True)[1]", gold=True)


def _whole(body: Sequence[ast.stmt], function: str) -> Assertion:
    names = [part.name for part in body if isinstance(part, ast.FunctionDef)]
    if "check" in names and function:
        return Assertion(_source(body), f"(check({function}), True)[1]", gold=True)
    return Assertion(_source(body), "True", gold=True)


def _source(body: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, body))
