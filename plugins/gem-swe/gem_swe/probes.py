"""Tests as probes: programs that say what a repository does, without what it should do.

A program that runs beside the code of an agent can be read and changed by it. So what a test
expects is taken out of it: of ``assert slug("A b") == "a-b"`` the probe has only ``slug("A b")``,
and what comes is compared elsewhere. To be paid, code can only behave as it should. Names that are
set and then read only in what is expected are taken out too.

What is read are plain ``assert`` statements, and the methods of ``unittest`` in ``_METHODS`` and
``assertRaises``. All else in a test stays as it is.
"""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from gem_core.errors import ConfigError
from gem_swe.code_text import CodeText

__all__ = ["Probe", "Probed", "probed_tests"]

_OBSERVE = "observe"
_METHODS = ("assertEqual", "assertIsNone", "assertTrue", "assertFalse")
_SHAPES = "assert EXPR, or self.assertEqual, assertIsNone, assertTrue, assertFalse, assertRaises"
_BLOCKS = ast.For | ast.With | ast.If | ast.While | ast.Try


@dataclass(frozen=True)
class Probe:
    """One observation of a test.

    Args:
        expression: The code that is observed, as it stands in the test.
        before: The statements of the test that come before it, with the expressions that it has
            observed, if names of the test's own are in them: they may have changed something.
        raises: The name of the class of the error that is expected; empty if a value is.
        is_truth: Whether only the truth of the value counts.
        is_repeated: Whether it is in a loop or another block, so that ``before`` is not all that it
            needs.
    """

    expression: str
    before: tuple[str, ...] = ()
    raises: str = ""
    is_truth: bool = False
    is_repeated: bool = False


@dataclass(frozen=True)
class Probed:
    """The tests of a repository as probes.

    Args:
        sources: The probe programs by the paths of the test files.
        probes: The observations of each test by its id, ``path::name`` or ``path::Class::name``.
            A test may make one of them any number of times.
        contexts: By the path of each test file, the code of what it defines at its top level:
            imports, helpers and constants, by the names that they define.
    """

    sources: Mapping[str, str]
    probes: Mapping[str, tuple[Probe, ...]] = field(default_factory=dict)
    contexts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @functools.cached_property
    def known(self) -> frozenset[str]:
        """The ids of the tests and the paths of their files, which is what a guest writes of."""
        return frozenset({*self.probes, *self.sources})

    def file_of(self, test: str) -> str:
        """Return the path of the file that a test is in."""
        return test.partition("::")[0]


def probed_tests(files: Mapping[str, bytes]) -> Probed:
    """Return test files as probes.

    Args:
        files: Content by path.

    Raises:
        ConfigError: A file is not Python, or a test in it observes nothing.
    """
    sources: dict[str, str] = {}
    probes: dict[str, tuple[Probe, ...]] = {}
    contexts: dict[str, dict[str, str]] = {}
    for path, content in sorted(files.items()):
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            raise ConfigError(f"{path} is not Python: {error}") from error
        text = CodeText(content)
        expected_only = _expected_only(tree)
        contexts[path] = dict(_definitions(tree, text))
        set_ups = {node.name: _set_up(node, text) for node in tree.body if _is_class(node)}
        for owner, function in _tests(tree):
            reader = _Reader(
                text, set_ups[owner[0]] if owner else None, expected=_expected_only(function)
            )
            function.body = reader.read_all(function.body)
            test = "::".join((path, *owner, function.name))
            if not reader.probes:
                raise ConfigError(f"{test} has no assertion that can be observed: {_SHAPES}.")
            probes[test] = tuple(reader.probes)
        tree.body = [one for one in tree.body if not _sets_only(one, expected_only)]
        sources[path] = ast.unparse(ast.fix_missing_locations(tree))
    return Probed(sources, probes, contexts)


def _definitions(tree: ast.Module, source: CodeText) -> Iterator[tuple[str, str]]:
    """Yield the names that a file defines at its top level, and the code of each."""
    for node in tree.body:
        text = source.dedented(node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                yield one.asname or one.name.partition(".")[0], text
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, text
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, text


def _tests(tree: ast.Module) -> list[tuple[tuple[str, ...], ast.FunctionDef]]:
    """Return the test functions of a file, each with the name of its class."""
    found: list[tuple[tuple[str, ...], ast.FunctionDef]] = []
    for node in tree.body:
        owner = (node.name,) if isinstance(node, ast.ClassDef) else ()
        inner: Sequence[ast.stmt] = node.body if isinstance(node, ast.ClassDef) else (node,)
        for one in inner:
            if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"):
                found += [(owner, one)]
    return found


class _Reader:
    """Puts observations in the place of the assertions of a test."""

    def __init__(self, source: CodeText, set_up: "_SetUp | None", *, expected: set[str]) -> None:
        self._source, self._set_up, self._expected = source, set_up, expected
        self.probes: list[Probe] = []
        self._before: list[str] = [] if set_up is None else [*set_up.statements]
        self._own: set[str] = set() if set_up is None else {"self"}
        self._depth = 0

    def read_all(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return statements with observations in place of assertions."""
        kept = [one for one in body if not _sets_only(one, self._expected)]
        return [self._read(one) for one in kept] or [ast.Pass()]

    def _read(self, node: ast.stmt) -> ast.stmt:
        found = _assertion(node)
        if found is not None:
            expression, raises, is_truth = found
            self.probes.append(
                Probe(
                    expression=self._code(expression),
                    before=tuple(self._before),
                    raises=raises,
                    is_truth=is_truth,
                    is_repeated=self._depth > 0,
                )
            )
            if self._own.intersection(_reads(expression)):
                self._before.append(self._code(expression))
            number = ast.Constant(len(self.probes) - 1)
            call = ast.Call(ast.Name(_OBSERVE, ast.Load()), [number, _later(expression)], [])
            return ast.copy_location(ast.Expr(call), node)
        code = self._code(node)
        if isinstance(node, _BLOCKS):
            self._depth += 1
            for name, inner in ast.iter_fields(node):
                if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                    setattr(node, name, self.read_all(inner))
            self._depth -= 1
        self._own |= _sets(node)
        self._before.append(code)
        return node

    def _code(self, node: ast.stmt | ast.expr) -> str:
        code = self._source.dedented(node)
        return code if self._set_up is None else self._set_up.without_self(code)


@dataclass(frozen=True)
class _SetUp:
    """What the method ``setUp`` of a class does before each test.

    Args:
        statements: Its statements, with variables in the place of attributes.
        names: The attributes that it sets.
    """

    statements: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def without_self(self, code: str) -> str:
        """Return code with variables in the place of the attributes."""
        if not self.names:
            return code
        return re.sub(rf"\bself\.({'|'.join(map(re.escape, self.names))})\b", r"\1", code)


def _is_class(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef)


def _set_up(node: ast.ClassDef, source: CodeText) -> _SetUp:
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "setUp":
            names = tuple(
                target.attr
                for target in ast.walk(one)
                if isinstance(target, ast.Attribute)
                and isinstance(target.ctx, ast.Store)
                and ast.unparse(target.value) == "self"
            )
            bare = _SetUp(names=names)
            statements = (bare.without_self(source.dedented(each)) for each in one.body)
            return _SetUp(tuple(statements), names)
    return _SetUp()


def _assertion(node: ast.stmt) -> tuple[ast.expr, str, bool] | None:
    """Return what a statement observes, the error that it expects, and whether a truth counts."""
    if isinstance(node, ast.Assert):
        test = node.test
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Is):
            return test.left, "", False
        return _positive(test), "", True
    if isinstance(node, ast.Expr) and (call := _call_of_self(node.value)) is not None:
        name = _name_of(call)
        if name in _METHODS and call.args:
            is_truth = name in {"assertTrue", "assertFalse"}
            return call.args[0], "", is_truth
    if isinstance(node, ast.With) and len(node.body) == 1 and isinstance(node.body[0], ast.Expr):
        call = _call_of_self(node.items[0].context_expr)
        if call is not None and _name_of(call) == "assertRaises" and call.args:
            return node.body[0].value, ast.unparse(call.args[0]).rpartition(".")[2], False
    return None


def _expected_only(tree: ast.AST) -> set[str]:
    """Return the names that are read nowhere but in what assertions expect."""
    read = Counter(_reads(tree))
    for one in ast.walk(tree):
        if isinstance(one, ast.Assert) and isinstance(one.test, ast.Compare):
            read.subtract(name for each in one.test.comparators for name in _reads(each))
        elif isinstance(one, ast.Call) and _call_of_self(one) and _name_of(one) in _METHODS:
            read.subtract(name for each in one.args[1:] for name in _reads(each))
    return {name for name, count in read.items() if count <= 0}


def _sets_only(node: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement does nothing but set some of these names."""
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id in names
    return isinstance(node, ast.Assign) and all(
        isinstance(one, ast.Name) and one.id in names for one in node.targets
    )


def _reads(node: ast.AST) -> list[str]:
    """Return the names that code reads, as often as it does."""
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return [one.id for one in names if isinstance(one.ctx, ast.Load)]


def _sets(node: ast.AST) -> set[str]:
    """Return the names that code sets."""
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


def _positive(expression: ast.expr) -> ast.expr:
    """Return an expression without ``not``: its truth is compared with what it was."""
    while isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
        expression = expression.operand
    return expression


def _call_of_self(node: ast.expr) -> ast.Call | None:
    """Return an expression if it calls a method of ``self``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return node if isinstance(owner, ast.Name) and owner.id == "self" else None
    return None


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _later(expression: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, expression)
