"""Reads assertions and test programs as tests, of which as little as possible enters the sandbox.

A test has one of three forms. It is *unrolled* if possible: ``assert f(2) == 4`` becomes the call
``f(2)``, the only thing that the solution's process learns, and a condition on its value. Another
test is a *program*, which runs in a process of its own and asks the solution's process for one call
after another. What cannot be done that way runs inside the solution's process, and is *forgeable*.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gem_code.programs import TestProgram, is_forgeable, program_of
from gem_code.unroll import Condition, literal, unroll
from gem_core.errors import DataError

__all__ = ["Assertion", "read_assertions"]


@dataclass(frozen=True)
class Assertion:
    """One test, in one of three forms.

    Args:
        text: The source of the test, without its setup.
        setup: Statements to run first in the solution's process.
        calls: Expressions to evaluate in that process.
        conditions: What must be true of their values.
        program: The program to run instead, in a process of its own.
        forgeable: Whether the test runs in the solution's process as a whole.
    """

    text: str
    setup: str = ""
    calls: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    program: TestProgram | None = None
    forgeable: bool = False


def read_assertions(sources: Sequence[str], function: str = "") -> list[Assertion]:
    """Read assertions, or a whole test program.

    Each ``assert`` at the top level is a test, as is each loop or other statement that contains
    one, each function ``test...()``, and each method ``test...`` of a class that is a ``TestCase``
    or named ``Test...``. The other top-level statements before it are its setup. A program with
    none of them is a single test, which calls ``check`` with the tested function if the program
    defines it.

    Args:
        sources: Consecutive pieces of a program.
        function: The name of the tested function, for ``check``.

    Raises:
        DataError: The sources are not valid Python.
    """
    try:
        parsed = [part for source in sources for part in ast.parse(source).body]
        body = [part for part in parsed if not _is_left_out(part)]
        found = [*_of_asserts(body, function), *_of_functions(body, function)]
        return found if found or not body else [_of_all(body, function)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the tests are not valid Python: {error}") from None


def _is_left_out(part: ast.stmt) -> bool:
    """Whether a statement only starts the tests, as the main program, or imports the solution."""
    match part:
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return ast.unparse(func) in ("unittest.main", "pytest.main")
        case ast.ImportFrom(module="solution", names=[ast.alias("*")]):
            return True
    return False


def _of_asserts(body: Sequence[ast.stmt], function: str) -> Iterator[Assertion]:
    setup: list[ast.stmt] = []
    for part in body:
        if _asserts(part):
            yield _assertion(setup, [part], function)
        else:
            setup.append(part)


def _asserts(part: ast.stmt) -> bool:
    """Whether a statement is an assertion, or contains one that it runs."""
    if isinstance(part, ast.Assert):
        return True
    if isinstance(part, ast.With) and "raises" in ast.unparse(part.items[0].context_expr):
        return True
    runs = ast.For | ast.While | ast.With | ast.If | ast.Try
    return isinstance(part, runs) and any(isinstance(node, ast.Assert) for node in ast.walk(part))


def _assertion(
    setup: Sequence[ast.stmt],
    test: Sequence[ast.stmt],
    function: str,
    *,
    given: Sequence[tuple[str, ast.expr]] = (),
    start: Sequence[ast.stmt] | None = None,
) -> Assertion:
    """Return a test.

    Args:
        setup: The statements before it.
        test: Its statements.
        function: The name of the tested function.
        given: The values of its parameters.
        start: The statements that run it after the setup, if its own do not.
    """
    text = _source(test)
    unrolled = unroll([*setup, *test], tested=[function], given=given)
    if unrolled is not None:
        return Assertion(text, unrolled.setup, unrolled.calls, unrolled.conditions)
    whole = [*setup, *(test if start is None else start)]
    program = program_of(whole, function=function)
    if not is_forgeable(whole, program.names):
        return Assertion(text, program=program)
    passed = Condition("the test passes", ast.Constant(True), 0, True)
    return Assertion(text, _source(whole), ("True",), (passed,), forgeable=True)


def _of_functions(body: Sequence[ast.stmt], function: str) -> Iterator[Assertion]:
    setup = [part for part in body if not _asserts(part)]
    for part in body:
        if isinstance(part, ast.FunctionDef) and part.name.startswith("test"):
            yield from _of_function(setup, part, function)
        elif isinstance(part, ast.ClassDef) and _is_test_case(part):
            yield from _of_class(setup, part, function)


def _of_function(
    setup: Sequence[ast.stmt], test: ast.FunctionDef, function: str
) -> Iterator[Assertion]:
    names, cases = _parameters(test)
    test.decorator_list = [each for each in test.decorator_list if not _parametrizes(each)]
    for values in cases:
        given = list(zip(names, values, strict=False))
        call = ast.Call(ast.Name(test.name, ast.Load()), list(values), [])
        plain = not test.decorator_list and len(test.args.args) == len(given)
        yield _assertion(
            setup,
            test.body if plain else [test],
            function,
            given=given if all(literal(value) for value in values) else (),
            start=[ast.Expr(call)],
        )


def _parametrizes(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".parametrize")


def _parameters(test: ast.FunctionDef) -> tuple[list[str], list[Sequence[ast.expr]]]:
    """Return the parameters of a test function, and their values for each of its runs."""
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(args=[names, ast.List(elts=rows) | ast.Tuple(elts=rows)]):
                known = literal(names)
                if not _parametrizes(decorator) or not known:
                    continue
                listed = (
                    known[0].replace(",", " ").split() if isinstance(known[0], str) else known[0]
                )
                return list(listed), [_row(row, len(listed)) for row in rows]
    return [], [()]


def _row(row: ast.expr, length: int) -> Sequence[ast.expr]:
    return row.elts if length > 1 and isinstance(row, ast.Tuple | ast.List) else [row]


def _is_test_case(part: ast.ClassDef) -> bool:
    bases = [ast.unparse(base).rpartition(".")[2] for base in part.bases]
    return "TestCase" in bases or (part.name.startswith("Test") and not bases)


def _of_class(setup: Sequence[ast.stmt], case: ast.ClassDef, function: str) -> Iterator[Assertion]:
    methods = [part for part in case.body if isinstance(part, ast.FunctionDef)]
    tests = [part for part in methods if part.name.startswith("test")]
    alone = len(methods) == len(tests)
    for test in tests:
        start = f"{case.name}({test.name!r}).debug()"
        if not case.bases:
            start = f"{case.name}().{test.name}()"
        elif any(part.name == "setUpClass" for part in methods):
            start = f"{case.name}.setUpClass()\n{start}"
        yield _assertion(
            setup, test.body if alone else [case], function, start=ast.parse(start).body
        )


def _of_all(body: Sequence[ast.stmt], function: str) -> Assertion:
    """Return a program as one test."""
    checks = [part for part in body if isinstance(part, ast.FunctionDef) and part.name == "check"]
    calls = [part for part in body if _calls_check(part)]
    if len(calls) == 1 and checks:
        function = ast.unparse(calls[0].value.args[0])  # type: ignore[attr-defined]
        body = [part for part in body if part not in calls]
    if not checks or not function:
        return _assertion([], body, function)
    candidate = ast.parse(function, mode="eval").body
    check = checks[-1]
    names = [part.arg for part in check.args.args]
    start = ast.Expr(ast.Call(ast.Name("check", ast.Load()), [candidate], []))
    return _assertion(
        body, check.body, function, given=[(name, candidate) for name in names], start=[start]
    )


def _calls_check(part: ast.stmt) -> bool:
    match part:
        case ast.Expr(value=ast.Call(func=ast.Name("check"), args=[_], keywords=[])):
            return True
    return False


def _source(body: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, body))
