"""Test programs that must be run: what they need of the solution, and whether it can be remote.

Such a program runs in a process of its own, and reaches the solution by messages of plain data (see
``tester.py``). That excludes programs that take the solution apart, replace parts of it, pass it
functions, or use the operators of its classes. They run in the process of the solution, which can
therefore forge their result: they are *forgeable*.
"""

import ast
import builtins
import symtable
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gem_code.executed import calls_an_argument, counted
from gem_code.syntax import parsed
from gem_code.unroll import literal
from gem_workers import common_names

__all__ = ["TestProgram", "is_forgeable", "program_of", "uses_the_solution"]

_BUILTINS = frozenset(dir(builtins))
_INSIDE = frozenset(
    """asyncio builtins concurrent ctypes gc importlib inspect mock multiprocessing signal
    subprocess unittest.mock weakref""".split()  # noqa: SIM905 - it is read, not changed
)
"""Modules that a test imports to look into the solution, or that need its process."""
_REACHING = frozenset({"eval", "exec", "globals", "locals", "vars", "__import__", "monkeypatch"})
_ASYNC = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)


class TestProgram(NamedTuple):
    """A test program to run beside the solution.

    Attributes:
        source: Its source, which counts its assertions (``gem_code.executed``).
        names: The names that it expects of the solution.
        called: The ones among ``names`` that it calls.
    """

    source: str
    names: tuple[str, ...]
    called: tuple[str, ...]


def program_of(body: Sequence[ast.stmt], *, function: str = "") -> TestProgram:
    """Return the program of some statements.

    Args:
        body: The statements.
        function: The name of the tested function, if it is known.
    """
    tree = parsed(_source(body))
    names = _names(tree, function)
    called = tuple(sorted(_called(tree) & {*names}))
    return TestProgram(ast.unparse(_CallsForEffect().visit(counted(tree))), names, called)


def _source(body: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, body))


class _CallsForEffect(ast.NodeTransformer):
    """Marks the calls that are statements, or the whole value of a variable.

    Only these change arguments: a solution that empties the list that ``assert f(x) == sorted(x)``
    passes to it must not change what its result is compared with.
    """

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        node.value = _marked(self.generic_visit(node).value)  # type: ignore[attr-defined]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = _marked(self.generic_visit(node).value)  # type: ignore[attr-defined]
        return node


def _marked(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS:
            return node
        case ast.Call(func=func, args=args, keywords=keywords):
            return ast.Call(ast.Name("gem_change_by_call", ast.Load()), [func, *args], keywords)
    return node


def _names(tree: ast.Module, function: str) -> tuple[str, ...]:
    """Return the names that only the solution can define, in alphabetical order."""
    free = free_names(ast.unparse(tree)) | _imported(tree)
    tested = {function} & _BUILTINS
    others = {name for name in free if name == function or not _is_common(name, tree, free)}
    return tuple(sorted(others | tested))


def free_names(source: str) -> set[str]:
    """Return the global names that a program uses, without builtins and its own."""
    top = symtable.symtable(source, "tests", "exec")
    defined = {
        symbol.get_name()
        for symbol in top.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    used = {
        symbol.get_name()
        for table in _tables(top)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (symbol.is_global() or table is top)
    }
    return used - defined - _BUILTINS - {"__name__", "__file__"}


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that a program imports from the module ``solution``."""
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "solution"
        for alias in node.names
    }
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "solution"
    }
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    }
    return (names | attributes) - {"*"}


def _is_common(name: str, tree: ast.Module, free: set[str]) -> bool:
    """Return whether a name is that of a library, which a test uses without importing it.

    A function may have the name of one in a library: it is tested if nothing else can be.
    """
    if name not in common_names.NAMES:
        return False
    if common_names.NAMES[name][1] is None:
        uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
        parents = _parents(tree)
        return all(isinstance(parents.get(use), ast.Attribute) for use in uses)
    return not free <= common_names.NAMES.keys()


def _called(tree: ast.Module) -> set[str]:
    """Return the names that a program calls, or passes to one of its functions."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    called = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                called.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr=name)):
                called.add(name)
        match node:
            case ast.Call(func=func, args=args) if (
                calls_an_argument(func) or ast.unparse(func) in own
            ):
                called |= {one.id for one in args if isinstance(one, ast.Name)}
    return called


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def uses_the_solution(body: Sequence[ast.stmt], names: Sequence[str]) -> bool:
    """Return whether statements use the solution, by a name that it defines or from inside."""
    return bool(names) or is_forgeable(body, [""])


def is_forgeable(body: Sequence[ast.stmt], names: Sequence[str]) -> bool:
    """Return whether statements have to run in the process of the solution.

    Args:
        body: The statements.
        names: The names that they expect of the solution.
    """
    if not names:
        return True
    return _Forgeable(parsed(_source(body)), frozenset(names)).found()


class _Forgeable:
    """Looks for uses of a solution that are not possible from another process."""

    def __init__(self, tree: ast.Module, names: frozenset[str]) -> None:
        self._tree = tree
        self._names = names
        self._parents = _parents(tree)
        self._local = set(self._definitions())
        """The functions and classes of the test, and variables that contain such."""
        self._add_variables()
        self._objects: set[str] = set()
        """The variables and attributes that are objects of the solution's classes."""
        self._tested = {"candidate", "solution", *self._parameters_of_check()}

    def _definitions(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name

    def _add_variables(self) -> None:
        """Add the variables whose values are, or contain, functions or objects of the test."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign) and self._is_code(node.value):
                parts = [part for target in node.targets for part in ast.walk(target)]
                self._local |= {part.id for part in parts if isinstance(part, ast.Name)}

    def _parameters_of_check(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef) and node.name == "check":
                yield from (part.arg for part in node.args.args)

    def found(self) -> bool:
        """Return whether the test has such a use."""
        nodes = list(ast.walk(self._tree))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        found = [self._has_class_beyond_methods(node) for node in names if node.id in self._names]
        return (
            any(found)
            or any(self._is_operated_on(node) for node in nodes)
            or any(map(self._reaches_inside, nodes))
        )

    def _reaches_inside(self, node: ast.AST) -> bool:
        match node:
            case ast.Import() | ast.ImportFrom():
                found = any(map(_is_inside, _modules_of(node)))
            case ast.Name(id=name):
                found = name in _REACHING
            case ast.Attribute(value=ast.Name(id="sys"), attr="modules" | "stdin"):
                found = True
            case ast.Attribute(value=value, attr=name) if name.startswith("__"):
                found = self._is_mine(value)
            case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
                found = self._is_mine(value)
            case ast.ClassDef(bases=bases):
                found = any(self._is_mine(base) for base in bases)
            case ast.Call(func=func) if self._is_mine(func):
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
                found = self._judges(node, parts) or any(map(self._is_code, parts))
            case _:
                found = isinstance(node, _ASYNC)
        return found

    def _is_mine(self, function: ast.expr) -> bool:
        """Return whether an expression is something of the solution."""
        while isinstance(function, ast.Attribute | ast.Call):
            if ast.unparse(function) in self._objects:
                return True
            function = function.value if isinstance(function, ast.Attribute) else function.func
        name = function.id if isinstance(function, ast.Name) else ""
        return name in self._names | self._objects | self._tested

    def _judges(self, call: ast.Call, parts: Sequence[ast.expr]) -> bool:
        """Return whether a function of the solution decides about a result of another one."""
        nodes = [node for part in parts for node in ast.walk(part)]
        results = [node for node in nodes if isinstance(node, ast.Call)]
        decides = isinstance(self._parents[call], ast.Assert | ast.BoolOp | ast.UnaryOp)
        return decides and any(self._is_mine(node.func) for node in results)

    def _is_code(self, argument: ast.expr) -> bool:
        """Return whether an argument contains a function, or an object of a class, of the test."""
        for node in ast.walk(argument):
            if isinstance(node, ast.Lambda):
                return True
            if isinstance(node, ast.Name) and node.id in self._local:
                parent = self._parents.get(node)
                is_called = isinstance(parent, ast.Call) and parent.func is node
                if not is_called or node.id[0].isupper():
                    return True
        return False

    def _has_class_beyond_methods(self, name: ast.Name) -> bool:
        """Return whether a class of the solution is used for more than its objects' methods."""
        if not name.id[0].isupper() or name.id.isupper():
            return False
        parent = self._parents[name]
        if isinstance(parent, ast.Call) and parent.func is name and self._is_value(parent):
            return False
        if not isinstance(parent, ast.Call):
            return not isinstance(parent, ast.Attribute | ast.ExceptHandler)
        if parent.func is not name:
            return not ast.unparse(parent.func).rpartition(".")[2].startswith(("raises", "assertR"))
        match self._parents[parent]:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
                self._objects.add(ast.unparse(target))
                return False
            case holder:
                return not isinstance(holder, ast.Attribute | ast.Expr)

    def _is_value(self, call: ast.Call) -> bool:
        """Return whether a result is compared with literals, and so is not an object of a class."""
        match self._parents[call]:
            case ast.Compare(left=left, comparators=others):
                return all(one is call or literal(one) for one in (left, *others))
        return False

    def _is_operated_on(self, node: ast.AST) -> bool:
        """Return whether an object of the solution's classes is used for more than its methods."""
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return False
        is_object = ast.unparse(node) in self._objects
        return is_object and not isinstance(self._parents[node], ast.Attribute | ast.Expr)


def _is_inside(module: str) -> bool:
    return module in _INSIDE or module.partition(".")[0] in _INSIDE


def _modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the full names of all imports, modules or not."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    module = node.module or ""
    return [module, *(f"{module}.{alias.name}" for alias in node.names)]
