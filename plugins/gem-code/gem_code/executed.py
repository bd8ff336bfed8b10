"""The assertions of a test that are executed.

A test passes only if at least one of its assertions was executed, after a call of the solution. So
a test whose assertions nothing would run is found when it is read (``runs_an_assertion``), and the
others count their assertions while they run (``counted``).
"""

import ast
from collections.abc import Iterator, Sequence

__all__ = ["calls_an_argument", "contains_an_assertion", "counted", "runs_an_assertion"]

_CONTEXTS = ("raises", "warns")
"""Context managers of pytest that assert something when they end."""
_CALLERS = (*_CONTEXTS, "assertRaises", "assertWarns", "assert_raises", "assert_warns")
"""Functions that assert something if they are given a function to call."""
_CALLED_BY_UNITTEST = frozenset(
    {"setUp", "setUpClass", "tearDown", "tearDownClass", "asyncSetUp", "asyncTearDown"}
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_JUMPS = (ast.Return, ast.Break, ast.Continue)


def contains_an_assertion(part: ast.AST) -> bool:
    """Return whether a part of a program is or contains an assertion, run or not."""
    return any(map(is_assertion, ast.walk(part)))


def is_assertion(part: ast.AST) -> bool:
    """Return whether a part of a program is an assertion.

    That is ``assert``, a call such as ``self.assertEqual()`` or
    ``numpy.testing.assert_allclose()``, and a block that must raise.
    """
    match part:
        case ast.Assert():
            return True
        case ast.Call(func=func, args=args):
            name = _last_name(func)
            return len(args) > 1 if name.startswith(_CALLERS) else name.startswith("assert")
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(map(_must_raise, items))
    return False


def calls_an_argument(function: ast.expr) -> bool:
    """Return whether a function is an assertion that its second argument raises, or warns."""
    return _last_name(function).startswith(_CALLERS)


def _decides(part: ast.AST) -> bool:
    """Return whether a test has passed so far when it reaches the end of a statement.

    That is so if it fails in one of the branches.
    """
    match part:
        case ast.If(orelse=[ast.If() as other]):
            return _may_fail(part) or _decides(other)
        case ast.If() | ast.Try() | ast.Match():
            return _may_fail(part)
        case ast.For(orelse=otherwise) | ast.While(orelse=otherwise):
            return any(map(_fails, otherwise))
    return False


def _may_fail(part: ast.AST) -> bool:
    """Return whether one of the blocks of a statement always fails the test."""
    match part:
        case ast.Match(cases=cases):
            return any(map(_may_fail, cases))
    blocks = (getattr(part, name, []) for name in ("body", "orelse"))
    return any(_fails(one) for block in blocks if isinstance(block, list) for one in block)


def _must_raise(item: ast.withitem) -> bool:
    match item.context_expr:
        case ast.Call(func=func):
            return _last_name(func).startswith(("assert", *_CONTEXTS))
    return False


def _fails(part: ast.stmt) -> bool:
    """Return whether a statement always fails the test."""
    match part:
        case ast.Raise() | ast.Assert(test=ast.Constant(False | 0 | None)):
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return _last_name(func) in ("fail", "exit", "_exit")
    return False


def _calculates(scope: ast.AST) -> bool:
    """Return whether a function returns a value; its errors are then not a test's result."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Return) and not isinstance(part.value, ast.Constant | None):
            return True
        if not isinstance(part, _SCOPES):
            waiting += ast.iter_child_nodes(part)
    return False


class _Decisions(ast.NodeVisitor):
    """Finds the parts of a program after whose execution a test has passed so far.

    These are its assertions, statements that fail in one of their branches, and jumps that avoid a
    failure.
    """

    def __init__(self) -> None:
        self.found: set[ast.AST] = set()
        self._calculates = False
        self._avoids = False
        """Whether a jump avoids a failure."""

    def visit(self, node: ast.AST) -> None:
        """Visit a part."""
        before = self._calculates, self._avoids
        if isinstance(node, _SCOPES):
            self._calculates, self._avoids = _calculates(node), False
        avoids = isinstance(node, _JUMPS) and self._avoids
        if is_assertion(node) or (not self._calculates and (avoids or _decides(node))):
            self.found.add(node)
        self._avoids |= _may_fail(node)
        self.generic_visit(node)
        self._calculates, self._avoids = before

    def visit_withitem(self, node: ast.withitem) -> None:
        """Visit a context manager, which is not called yet if it is an assertion."""
        parts = ast.iter_child_nodes(node.context_expr if _must_raise(node) else node)
        for part in parts:
            self.visit(part)


def _decisions(body: Sequence[ast.stmt]) -> set[ast.AST]:
    finder = _Decisions()
    for part in body:
        finder.visit(part)
    return finder.found


def _last_name(func: ast.expr) -> str:
    return ast.unparse(func).rpartition(".")[2]


def runs_an_assertion(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements may run an assertion.

    A function or method runs only if something that runs mentions its name, if only as a text.
    """
    running = _Running(_decisions(body))
    running.waiting += body
    while running.waiting:
        running.visit(running.waiting.pop())
    return running.has_assertion


class _Running(ast.NodeVisitor):
    """Visits the statements that run, and collects the functions that they mention."""

    def __init__(self, decisions: set[ast.AST]) -> None:
        self.waiting: list[ast.stmt] = []
        self.has_assertion = False
        self._decisions = decisions
        self._mentioned = set(_CALLED_BY_UNITTEST)
        self._defined: dict[str, list[ast.stmt]] = {}
        """The statements of functions that are not mentioned yet."""

    def visit(self, node: ast.AST) -> None:
        """Visit a part that runs, but not the body of a function that it defines."""
        self.has_assertion |= node in self._decisions
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            runs = node.name in self._mentioned or _is_special(node.name)
            later = self.waiting if runs else self._defined.setdefault(node.name, [])
            later += node.body
            for part in (*node.decorator_list, node.args):
                self.visit(part)
            return
        for name in _names_of(node):
            self._mentioned.add(name)
            self.waiting += self._defined.pop(name, [])
        self.generic_visit(node)


def _names_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            yield name


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def counted(tree: ast.Module) -> ast.Module:
    """Return a program that calls ``gem_asserted()`` after each of its assertions; change it."""
    _Counted(_decisions(tree.body)).visit(tree)
    return ast.fix_missing_locations(tree)


class _Counted(ast.NodeTransformer):
    def __init__(self, decisions: set[ast.AST]) -> None:
        self._decisions = decisions

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        """Add the call after an assertion, or before a jump."""
        awaits = isinstance(node, ast.Await) and node.value in self._decisions
        if awaits:
            self._decisions.discard(node.value)  # type: ignore[attr-defined]
        changed = self.generic_visit(node)
        if not awaits and node not in self._decisions:
            return changed
        if isinstance(node, ast.expr):
            return ast.Call(ast.Name("gem_asserted", ast.Load()), [changed], [])  # type: ignore[list-item]
        count = ast.parse("gem_asserted()").body[0]
        return [count, changed] if isinstance(node, _JUMPS) else [changed, count]
