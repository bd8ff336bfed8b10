"""Assertions about a solution, turned into expressions to evaluate and values to expect.

``assert f(2) == 4`` becomes the expression ``f(2)`` and the value 4, so that the value stays out of
the sandbox. Where there is no literal to compare with, as in ``assert abs(f(2) - 4) < 0.1``, the
whole condition is evaluated, and the value to expect is True.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gem_core.errors import DataError

__all__ = ["Assertion", "read_assertions"]


class Assertion(NamedTuple):
    """What to run and what should come out.

    Attributes:
        setup: Statements to run first.
        expression: What to evaluate then.
        gold: The value that is right.
    """

    setup: str
    expression: str
    gold: Any


def read_assertions(sources: Sequence[str], function: str = "") -> list[Assertion]:
    """Read assertions, or the test program that they make up.

    Each ``assert`` at the top level is a test, and so is each function ``test...()``; what else
    stands before it at the top level is its setup. A program with neither is one test, which calls
    ``check`` with the function, if it defines that.

    Args:
        sources: Pieces of a program, one after another.
        function: Name of the function that ``check`` is called with.

    Raises:
        DataError: They are not Python.
    """
    try:
        body = [part for source in sources for part in ast.parse(source).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the tests are no Python: {error}") from None
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
    """Return what to evaluate, and the value that it should have."""
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
