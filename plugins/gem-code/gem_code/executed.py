"""Which assertions of a test are executed.

A test passes only if at least one of its assertions was executed, after a call of the solution. So
a test whose assertions nothing would run is found when it is read (``runs_an_assertion``), and the
others count their assertions while they run (``counted``).
"""

import ast
from collections.abc import Iterator, Sequence

__all__ = ["contains_an_assertion", "counted", "is_assertion", "runs_an_assertion"]

_CONTEXTS = ("raises", "warns")
"""Context managers of pytest that assert something when they end."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CALLED_BY_UNITTEST = frozenset(
    {"setUp", "setUpClass", "tearDown", "tearDownClass", "asyncSetUp", "asyncTearDown"}
)


def contains_an_assertion(part: ast.AST) -> bool:
    """Return whether a part of a program is or contains an assertion, run or not."""
    return any(isinstance(node, ast.stmt) and is_assertion(node) for node in ast.walk(part))


def is_assertion(part: ast.stmt) -> bool:
    """Return whether a statement is an assertion.

    That is ``assert``, a call such as ``self.assertEqual()`` or
    ``numpy.testing.assert_allclose()``, and a block that must raise.
    """
    match part:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=func) | ast.Await(value=ast.Call(func=func))):
            return _last_name(func).startswith("assert")
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(map(_must_raise, items))
    return False


def _decides(part: ast.stmt) -> bool:
    """Return whether a test holds as far as it goes where it reaches the end of a statement.

    That is an assertion, or an ``if`` or ``try`` that fails the test in one of its branches.
    """
    match part:
        case ast.If(body=body, orelse=orelse) | ast.Try(body=body, orelse=orelse):
            return any(map(_fails, [*body, *orelse]))
    return is_assertion(part)


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


def _last_name(func: ast.expr) -> str:
    return ast.unparse(func).rpartition(".")[2]


def runs_an_assertion(body: Sequence[ast.stmt]) -> bool:
    """Return whether statements may run an assertion.

    A function or method runs only if something that runs mentions its name, if only as a text.
    """
    running, mentioned = _Running(), set(_CALLED_BY_UNITTEST)
    waiting = list(body)
    while waiting:
        for part in waiting:
            running.visit(part)
        mentioned |= running.names
        waiting = running.take(mentioned)
    return running.has_assertion


class _Running(ast.NodeVisitor):
    """Collects what statements that run mention, and the functions that they define."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.has_assertion = False
        self._defined: list[ast.FunctionDef | ast.AsyncFunctionDef] = []

    def take(self, mentioned: set[str]) -> list[ast.stmt]:
        """Return the statements of functions that are mentioned, which run, too."""
        taken = [one for one in self._defined if one.name in mentioned or _is_special(one.name)]
        self._defined = [one for one in self._defined if one not in taken]
        return [part for one in taken for part in one.body]

    def visit(self, node: ast.AST) -> None:
        """Visit a part that runs, but not the body of a function that it defines."""
        if isinstance(node, ast.stmt) and _decides(node):
            self.has_assertion = True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._defined.append(node)
            for part in (*node.decorator_list, node.args):
                self.visit(part)
            return
        self.names |= set(_names_of(node))
        self.generic_visit(node)


def _names_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            yield name


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def counted(tree: ast.Module) -> ast.Module:
    """Return a program that calls ``gem_asserted()`` after each of its assertions; change it."""
    changed: ast.Module = _Counted().visit(tree)
    return ast.fix_missing_locations(changed)


class _Counted(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        """Add the call after an assertion."""
        changed = self.generic_visit(node)
        if not isinstance(node, ast.stmt) or not _decides(node):
            return changed
        return [changed, ast.parse("gem_asserted()").body[0]]
