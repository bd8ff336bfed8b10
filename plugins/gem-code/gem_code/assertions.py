"""Reads assertions and test programs as tests, of which as little as possible enters the sandbox.

A test has one of three forms. It is *unrolled* if possible: ``assert f(2) == 4`` becomes the call
``f(2)``, the only thing that the solution's process learns, and a condition on its value. Another
test is a *program*, which runs in a process of its own and asks the solution's process for one call
after another. What cannot be done that way runs inside the solution's process, and is *forgeable*.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gem_code.executed import (
    contains_an_assertion,
    counted,
    runs_an_assertion,
)
from gem_code.programs import TestProgram, is_forgeable, program_of, uses_the_solution
from gem_code.syntax import parsed
from gem_code.unroll import Condition, literal, unroll
from gem_core.errors import DataError

__all__ = ["Assertion", "read_assertions"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PURE = {one.__name__: one for one in (abs, all, any, len, max, min, round, sorted, sum)}
"""Functions of Python that are called with literals to find out whether a test means them."""
_PLAIN = (
    *(ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.List, ast.Name, ast.Set, ast.Tuple),
    *(ast.UnaryOp, ast.cmpop, ast.expr_context, ast.unaryop),
)
_STARTS = ("unittest.main", "pytest.main")
MAX_CASES = 10_000
"""The maximum number of cases of a parametrized test."""
_COUNT = """
gem_assertions = []
def gem_asserted(value=None):
    gem_assertions.append(True)
    return value
"""
"""What counts the assertions of a test that runs in the solution's process."""


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
    or named ``Test...``, inherited ones included. The other top-level statements before it are its
    setup. A program with none of them is a single test, which calls ``check`` with the tested
    function if the program defines it. What nothing would run is not a test. If the assertions call
    only a function of Python, such as ``sum``, which fails them, the solution is to define it anew.

    Args:
        sources: Consecutive pieces of a program.
        function: The name of the tested function, for ``check``.

    Raises:
        DataError: The sources are not valid Python, need fixtures, or nothing would run one of
            their assertions.
    """
    try:
        body = _without_start([part for source in sources for part in parsed(source).body])
        found = list(filter(None, _of_functions(body, function)))
        others = [part for part in body if not _asserts(part)]
        rest = [] if found else [_of_all(others, function)]
        tests = [*filter(None, _of_asserts(body, function)), *found, *filter(None, rest)]
    except DataError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the tests are not valid Python: {error}") from None
    if body and not tests and not function and (name := _redefined(body)):
        found = read_assertions(sources, name)
        tests = [_defined(one, name) for one in found] if all(one.calls for one in found) else []
    if body and not tests:
        raise DataError(_why_nothing_runs(body, function))
    return tests


def _why_nothing_runs(body: Sequence[ast.stmt], function: str) -> str:
    if _checks(body) and not function:
        return "the tests define check(), so the tested function must be named (function_key=)"
    if not any(map(contains_an_assertion, body)):
        return "the tests have no assertion"
    return "no assertion of the tests is run and uses the solution"


def _redefined(body: Sequence[ast.stmt]) -> str:
    """Return the function of Python that a solution is to define anew; empty if there is none.

    It is the only function that the assertions call, and Python's own fails one of them.
    """
    tests = [part.test for part in body if isinstance(part, ast.Assert)]
    nodes = [node for test in tests for node in ast.walk(test)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    is_plain = len(tests) == len(body) and all(isinstance(node, _PLAIN) for node in nodes)
    if not is_plain or len(names) != 1 or not names <= _PURE.keys():
        return ""
    scope = {"__builtins__": _PURE}
    try:
        parts = [compile(ast.Expression(test), "<test>", "eval") for test in tests]
        passes = all(eval(part, scope) for part in parts)  # noqa: S307 - plain literals
    except Exception:  # noqa: BLE001 - as calls with wrong arguments raise
        passes = False
    return "" if passes else names.pop()


def _defined(test: Assertion, name: str) -> Assertion:
    """Return a test that also fails if the solution leaves a function to Python."""
    return replace(test, setup=f"{name} = globals()[{name!r}]\n{test.setup}")


def _without_start(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements without those that only start the tests or import the solution.

    Assertions that only the main program runs are tests like others.
    """
    helpers = [part for part in body if isinstance(part, _FUNCTIONS) and not _is_test(part)]
    kept: list[ast.stmt] = []
    for part in body:
        match part:
            case ast.If(test=test, body=main) if "__name__" in ast.unparse(test):
                main = _without_start(main)
                kept += main if runs_an_assertion([*helpers, *main]) else []
            case ast.Expr(value=ast.Call(func=func)) if ast.unparse(func) in _STARTS:
                pass
            case ast.ImportFrom(module="solution", names=[ast.alias("*")]):
                pass
            case _:
                kept.append(part)
    return kept


def _is_test(part: ast.stmt) -> bool:
    return isinstance(part, _FUNCTIONS) and part.name.startswith("test")


def _of_asserts(body: Sequence[ast.stmt], function: str) -> Iterator[Assertion | None]:
    setup: list[ast.stmt] = []
    for part in body:
        if _asserts(part):
            yield _assertion(setup, [part], function)
        else:
            setup.append(part)


def _asserts(part: ast.stmt) -> bool:
    """Return whether a statement is an assertion, or contains one that it runs."""
    runs = ast.For | ast.While | ast.With | ast.If | ast.Try
    return isinstance(part, ast.Assert | ast.Expr | runs) and contains_an_assertion(part)


def _assertion(
    setup: Sequence[ast.stmt],
    test: Sequence[ast.stmt],
    function: str,
    *,
    given: Sequence[tuple[str, ast.expr]] = (),
    start: Sequence[ast.stmt] | None = None,
) -> Assertion | None:
    """Return a test; None if it would run no assertion.

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
    if not runs_an_assertion(whole) or not uses_the_solution(whole, program.names):
        return None
    if not is_forgeable(whole, program.names):
        return Assertion(text, program=program)
    passed = Condition("the test passes", ast.Constant(True), 0, True)
    called = f"all(map(callable, [{', '.join(program.called)}]))"
    calls = (f"bool(gem_assertions) and {called}",)
    return Assertion(text, _counted_inside(whole), calls, (passed,), forgeable=True)


def _counted_inside(body: Sequence[ast.stmt]) -> str:
    """Return a test for the solution's process, which counts its assertions itself."""
    tree = counted(parsed(_source(body)))
    futures = [isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in tree.body]
    first = max((number for number, is_future in enumerate(futures, 1) if is_future), default=0)
    tree.body[first:first] = ast.parse(_COUNT).body
    return ast.unparse(tree)


def _of_functions(body: Sequence[ast.stmt], function: str) -> Iterator[Assertion | None]:
    setup = [part for part in body if not _asserts(part)]
    classes = {part.name: part for part in body if isinstance(part, ast.ClassDef)}
    for part in body:
        if isinstance(part, _FUNCTIONS) and part.name.startswith("test"):
            yield from _of_function(setup, part, function)
        elif isinstance(part, ast.ClassDef):
            case = _case_of(part, classes)
            if case.is_run:
                yield from _of_class(setup, case, function)


def _of_function(
    setup: Sequence[ast.stmt], test: _Function, function: str
) -> Iterator[Assertion | None]:
    names, cases = _parameters(test)
    test.decorator_list = [each for each in test.decorator_list if not _marks(each)]
    if not test.decorator_list and not _needed(test) <= {*names}:
        if not _is_called(setup, test.name):
            raise DataError(f"{test.name}() needs values of fixtures, which are not supported")
        return
    for values in cases:
        given = list(zip(names, values, strict=False))
        named = [ast.keyword(name, value) for name, value in given]
        call: ast.expr = ast.Call(ast.Name(test.name, ast.Load()), [], named)
        plain = not test.decorator_list and len(test.args.args) == len(given)
        yield _assertion(
            setup,
            test.body if plain else [test],
            function,
            given=given if all(literal(value) for value in values) else (),
            start=_awaited(call) if isinstance(test, ast.AsyncFunctionDef) else [ast.Expr(call)],
        )


def _is_called(body: Sequence[ast.stmt], name: str) -> bool:
    nodes = [node for part in body for node in ast.walk(part)]
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


def _needed(test: _Function) -> set[str]:
    """Return the parameters that need a value: a fixture, unless the test is parametrized."""
    count = len(test.args.args) - len(test.args.defaults)
    return {one.arg for one in test.args.args[:count]}


def _awaited(call: ast.expr) -> list[ast.stmt]:
    return parsed(f"import asyncio\nasyncio.run({ast.unparse(call)})").body


def _marks(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith(("pytest.mark.", "mark.")) or _parametrizes(decorator)


def _parametrizes(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".parametrize")


def _parameters(test: _Function) -> tuple[list[str], list[Sequence[ast.expr]]]:
    """Return the parameters of a test function, and their values for each of its runs."""
    names: list[str] = []
    cases: list[Sequence[ast.expr]] = [()]
    for decorator in filter(_parametrizes, test.decorator_list):
        match decorator:
            case ast.Call(args=[listed, ast.List(elts=rows) | ast.Tuple(elts=rows), *_]):
                for known in literal(listed):
                    parts = known.replace(",", " ").split() if isinstance(known, str) else known
                    new = [*map(str, parts)] if isinstance(parts, list | tuple) else []
                    names += new
                    if len(cases) * len(rows) > MAX_CASES:
                        raise DataError(f"{test.name} has more than {MAX_CASES} cases")
                    cases = [(*case, *_row(row, len(new))) for case in cases for row in rows]
    return names, cases


def _row(row: ast.expr, length: int) -> Sequence[ast.expr]:
    match row:
        case ast.Call(func=func, args=args) if ast.unparse(func) in ("pytest.param", "param"):
            return args
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if length > 1:
            return parts
    return [row]


class _Case(NamedTuple):
    """A class of tests, with the members that it inherits from other classes of the tests.

    Attributes:
        definition: The class.
        methods: Its methods and the inherited ones, by name.
        bases: The last names of those of its bases and their bases that libraries define.
        is_derived: Whether it inherits from a class of the tests.
    """

    definition: ast.ClassDef
    methods: dict[str, _Function]
    bases: set[str]
    is_derived: bool

    @property
    def is_unittest(self) -> bool:
        """Whether it is a test case of unittest."""
        return any(base.endswith("TestCase") for base in self.bases)

    @property
    def is_run(self) -> bool:
        """Whether unittest or pytest runs it."""
        return self.is_unittest or (self.definition.name.startswith("Test") and not self.bases)

    @property
    def tests(self) -> list[_Function]:
        """The methods that are tests; unittest awaits them in some classes only."""
        found = [one for name, one in self.methods.items() if name.startswith("test")]
        if self.is_unittest and not found and "runTest" in self.methods:
            found = [self.methods["runTest"]]
        awaits = "IsolatedAsyncioTestCase" in self.bases
        return [one for one in found if awaits or isinstance(one, ast.FunctionDef)]


def _case_of(part: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> _Case:
    methods: dict[str, _Function] = {}
    bases: set[str] = set()
    waiting, seen = [part], {part.name}
    while waiting:
        one = waiting.pop(0)
        methods = {each.name: each for each in one.body if isinstance(each, _FUNCTIONS)} | methods
        for name in map(ast.unparse, one.bases):
            if name not in classes:
                bases |= {name.rpartition(".")[2]} - {"object"}
            elif name not in seen:
                seen.add(name)
                waiting.append(classes[name])
    return _Case(part, methods, bases, len(seen) > 1)


def _of_class(setup: Sequence[ast.stmt], case: _Case, function: str) -> Iterator[Assertion | None]:
    name, tests = case.definition.name, case.tests
    alone = len(case.methods) == len(tests) and not case.is_derived
    for test in tests:
        start = f"{name}({test.name!r}).debug()"
        if not case.is_unittest:
            if len(_needed(test)) > 1:
                continue
            start = _started(case, test)
        elif "setUpClass" in case.methods:
            start = f"{name}.setUpClass()\n{start}"
        body = test.body if alone else [case.definition]
        yield _assertion(setup, body, function, start=ast.parse(start).body)


def _started(case: _Case, test: _Function) -> str:
    """Return the code that runs a test of a class as pytest does."""
    lines = [f"gem_case = {case.definition.name}()"]
    for before in ("setup_class", "setup_method"):
        if before in case.methods:
            others = ["None"] * (len(_needed(case.methods[before])) - 1)
            lines.append(f"gem_case.{before}({', '.join(others)})")
    return "\n".join([*lines, f"gem_case.{test.name}()"])


def _of_all(body: Sequence[ast.stmt], function: str) -> Assertion | None:
    """Return a program as one test."""
    checks = _checks(body)
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


def _checks(body: Sequence[ast.stmt]) -> list[ast.FunctionDef]:
    return [part for part in body if isinstance(part, ast.FunctionDef) and part.name == "check"]


def _calls_check(part: ast.stmt) -> bool:
    match part:
        case ast.Expr(value=ast.Call(func=ast.Name("check"), args=[_], keywords=[])):
            return True
    return False


def _source(body: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, body))
