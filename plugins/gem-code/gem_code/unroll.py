"""Unrolls the statements of a test into calls of the solution, and conditions on their values.

    def check(candidate):
        for number, square in [(2, 4), (3, 9)]:
            assert candidate(number) == square

becomes the calls ``f(2)`` and ``f(3)``, and the conditions that their values equal 4 and 9. The
solution's process is asked for the values of the calls alone. Variables with literal values are
replaced by them, and loops over literal values are unrolled. A test with other statements is not.
"""

import ast
import builtins
import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from gem_code.conditions import is_condition, value_name
from gem_code.unittest_assertions import asserted
from gem_workers import common_names

__all__ = ["Condition", "Unrolled", "literal", "unroll"]

MAX_CONDITIONS = 1000
_BUILTINS = frozenset(dir(builtins))


class Condition(NamedTuple):
    """A condition on the values of calls.

    Attributes:
        text: The source of the call if its value must equal ``gold``, or else of the condition.
        tree: An expression for ``conditions.evaluate``.
        call: The number of the call whose value must equal ``gold``; None for other conditions.
        gold: The expected value.
    """

    text: str
    tree: ast.expr
    call: int | None = None
    gold: Any = None


class Unrolled(NamedTuple):
    """Calls of a solution, and the conditions on their values.

    Attributes:
        setup: Imports that the arguments of the calls need.
        calls: Expressions to evaluate, one after another.
        conditions: What must be true of their values.
    """

    setup: str
    calls: tuple[str, ...]
    conditions: tuple[Condition, ...]


class _NotUnrolledError(Exception):
    """A test has to be run."""


def unroll(
    body: Sequence[ast.stmt],
    *,
    tested: Iterable[str] = (),
    given: Sequence[tuple[str, ast.expr]] = (),
) -> Unrolled | None:
    """Return the calls and conditions of some statements, None if they must be run.

    Args:
        body: The statements, of which definitions of functions and classes are not run.
        tested: Names that belong to the solution although builtins or libraries have them.
        given: The values of parameters: literals, or the tested function.
    """
    unroller = _Unroller(frozenset(tested))
    try:
        for name, value in given:
            unroller.give(name, value)
        unroller.run(body)
    except (_NotUnrolledError, RecursionError):
        return None
    if not unroller.conditions:
        return None
    return Unrolled(unroller.needed(), tuple(unroller.calls), tuple(unroller.conditions))


def literal(node: ast.AST) -> tuple[Any, ...]:
    """Return the value of a literal, in a tuple; an empty tuple for another expression."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ()


def _imported(part: ast.stmt) -> set[str]:
    """Return the names that an import defines."""
    names = part.names if isinstance(part, ast.Import | ast.ImportFrom) else []
    return {alias.asname or alias.name.partition(".")[0] for alias in names}


def _refuse() -> NoReturn:
    raise _NotUnrolledError


def _is_mutable(node: ast.AST) -> bool:
    kinds = ast.List | ast.Dict | ast.Set | ast.Call
    return any(isinstance(part, kinds) for part in ast.walk(node))


def _has_parts(node: ast.AST) -> bool:
    return isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set)


def _selected(whole: ast.expr, key: Any) -> ast.expr | None:
    """Return an item of a literal, None if it has no such item."""
    match whole:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            if isinstance(key, int) and -len(items) <= key < len(items):
                return items[key]
        case ast.Dict(keys=keys, values=values):
            found = [v for k, v in zip(keys, values, strict=True) if k and literal(k) == (key,)]
            return found[-1] if found else None
    return None


class _Unroller(ast.NodeTransformer):
    """The state of unrolling; as a transformer of expressions, it takes calls out of them."""

    def __init__(self, tested: frozenset[str]) -> None:
        self.setup: list[ast.stmt] = []
        self.calls: list[str] = []
        self.conditions: list[Condition] = []
        self._tested = tested
        self._known: dict[str, ast.expr] = {}
        """The values of variables: literals, conditions, and names of values of calls."""
        self._functions: dict[str, ast.expr] = {}
        """The variables that are functions of the solution."""
        self._modules: dict[str, str] = {}
        """The full names of imported modules and of their functions."""
        self._own: set[str] = set()
        """The names of the test whose values are not known."""
        self._passed: set[int] = set()
        """The identities of mutable values that were passed to the solution."""
        self._certain = True
        """Whether the current part of an expression is always evaluated."""

    def give(self, name: str, value: ast.expr) -> None:
        """Set a parameter."""
        if literal(value):
            self._known[name] = value
        else:
            self._functions[name] = value

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Unroll statements."""
        for part in body:
            self._statement(part)
            if len(self.conditions) > MAX_CONDITIONS:
                _refuse()

    def needed(self) -> str:
        """Return the source of the imports and other statements that the calls need."""
        effects = [part for part in self.setup if isinstance(part, ast.Expr)]
        sources = [*self.calls, *map(ast.unparse, effects)]
        trees = [ast.parse(source) for source in sources]
        used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
        kept = [part for part in self.setup if part in effects or used & _imported(part)]
        return "\n".join(map(ast.unparse, kept))

    def _statement(self, part: ast.stmt) -> None:
        match part:
            case ast.Assert(test=test):
                self._condition(test)
            case ast.Import() | ast.ImportFrom():
                self._import(part)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self._forget({name})
            case ast.For(orelse=[]):
                for item in self._items(part.iter):
                    self._bind(part.target, item)
                    self.run(part.body)
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=func))]):
                self.run(part.body if ast.unparse(func) == "self.subTest" else _refuse())
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call(func=ast.Name("print"), args=args)) if all(
                map(self._is_plain, args)
            ):
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name("self"))) as call):
                self._condition(asserted(call) or _refuse())
            case _:
                self._effect(part)

    def _effect(self, part: ast.stmt) -> None:
        """Take an assignment, or a statement that does not use the solution."""
        match part:
            case ast.Assign(targets=[target], value=value) if self._is_bound(target, value):
                return
            case ast.Assign(targets=targets):
                pass
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                targets = [target]
            case ast.Expr():
                targets = []
            case _:
                _refuse()
        if not all(map(self._is_variable, targets)):
            _refuse()
        self._leave_out(part)

    def _is_plain(self, value: ast.expr) -> bool:
        names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
        return all(name in self._known or self._is_builtin(name) for name in names)

    def _is_bound(self, target: ast.expr, value: ast.expr) -> bool:
        """Assign a value if it is a condition; return whether it is."""
        try:
            self._bind(target, self._replaced(value))
        except _NotUnrolledError:
            return False
        return True

    def _leave_out(self, part: ast.stmt) -> None:
        """Skip a statement without the solution, and forget the values that it may change."""
        nodes = [node for node in ast.walk(part) if isinstance(node, ast.Name)]
        names = {node.id for node in nodes}
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        known = self._known.keys() | self._modules.keys() | stored
        if any(name not in known and not self._is_builtin(name) for name in names):
            _refuse()
        if isinstance(part, ast.Expr) and names <= self._modules.keys():
            self.setup.append(part)
        self._forget({*names, *(name for name in self._known if _is_mutable(self._known[name]))})

    def _is_variable(self, target: ast.expr) -> bool:
        """Return whether an assignment changes only variables of the test, and no module."""
        while isinstance(target, ast.Subscript):
            target = target.value
            if isinstance(target, ast.Name) and target.id in self._modules:
                return False
        if isinstance(target, ast.Tuple | ast.List):
            return all(map(self._is_variable, target.elts))
        return isinstance(target, ast.Name)

    def _forget(self, names: set[str]) -> None:
        names = {name for name in names if name not in self._modules and name not in _BUILTINS}
        for name in names:
            self._known.pop(name, None)
        self._own |= names

    def _import(self, part: ast.Import | ast.ImportFrom) -> None:
        module = (part.module or "") if isinstance(part, ast.ImportFrom) else ""
        if module == "solution":
            for alias in part.names:
                self._functions[alias.asname or alias.name] = ast.Name(alias.name, ast.Load())
            return
        if any(alias.name == "*" for alias in part.names):
            _refuse()
        self.setup.append(part)
        for alias in part.names:
            full = f"{module}.{alias.name}" if module else alias.name
            name = alias.asname or (alias.name if module else alias.name.partition(".")[0])
            if full == "solution":
                self._functions[name] = ast.Name(full, ast.Load())
                self.setup.append(ast.Import([ast.alias(full)]))
            else:
                self._modules[name] = full if alias.asname or module else name

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _ if is_condition(value):
                self._known[name] = value
                self._own.discard(name)
            case (
                (ast.Tuple(elts=targets) | ast.List(elts=targets)),
                (ast.Tuple(elts=parts) | ast.List(elts=parts)),
            ) if len(targets) == len(parts):
                for one, part in zip(targets, parts, strict=True):
                    self._bind(one, part)
            case _:
                _refuse()

    def _items(self, node: ast.expr) -> Sequence[ast.expr]:
        """Return the items of an iterable."""
        match node:
            case ast.Call(func=ast.Name("zip"), args=args):
                columns = [self._items(arg) for arg in args]
                return [ast.Tuple(list(row), ast.Load()) for row in zip(*columns, strict=False)]
            case ast.Call(func=ast.Name("enumerate"), args=[arg]):
                rows = enumerate(self._items(arg))
                return [ast.Tuple([ast.Constant(n), item], ast.Load()) for n, item in rows]
            case ast.Call(func=ast.Name("range"), args=args):
                limits = [literal(self._replaced(arg)) for arg in args]
                if not all(limits) or len(numbers := range(*(n for (n,) in limits))) > 1000:
                    _refuse()
                return [ast.Constant(number) for number in numbers]
            case ast.Call(func=ast.Attribute(value, "items"), args=[]):
                table = self._replaced(value)
                if isinstance(table, ast.Dict) and literal(table):
                    pairs = zip(table.keys, table.values, strict=True)
                    return [ast.Tuple(list(pair), ast.Load()) for pair in pairs]  # type: ignore[arg-type]
        items = self._replaced(node)
        if not isinstance(items, ast.List | ast.Tuple) or not is_condition(items):
            _refuse()
        return items.elts

    def _condition(self, test: ast.expr) -> None:
        tree = self._replaced(test)
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        values = {value_name(index) for index in range(len(self.calls))}
        if not is_condition(tree) or not values & set(names):
            _refuse()
        call, gold = _expectation(tree)
        text = ast.unparse(test) if call is None else self.calls[call]
        self.conditions.append(Condition(text, tree, call, gold))

    def _replaced(self, node: ast.expr) -> ast.expr:
        """Return an expression with its known variables and its calls replaced."""
        return self.visit(copy.deepcopy(node))  # type: ignore[no-any-return]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._known:
            value = self._known[node.id]
            return _refuse() if self._is_passed(value) else value
        if node.id in self._modules:
            return ast.Name(self._modules[node.id], ast.Load())
        return node if self._is_builtin(node.id) else _refuse()

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        part = self.part(node)
        if part is None:
            return self.generic_visit(node)  # type: ignore[return-value]
        return _refuse() if self._is_passed(part) else part

    def _is_passed(self, value: ast.expr) -> bool:
        """Return whether the solution may have changed a value, or a part of it."""
        return bool(self._passed) and any(id(node) in self._passed for node in ast.walk(value))

    def part(self, node: ast.expr) -> ast.expr | None:
        """Return the part of a variable with a literal value that an expression selects."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id)
        if not isinstance(node, ast.Subscript):
            return None
        whole, key = self.part(node.value), literal(self.part(node.slice) or node.slice)
        return _selected(whole, key[0]) if whole is not None and key else None

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node.value:
            case ast.Name(id=name) if name in self._modules:
                return ast.Name(f"{self._modules[name]}.{node.attr}", ast.Load())
        _refuse()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self._is_of_solution(node.func):
            return self._called(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        first, *rest = node.values
        node.values = [self.visit(first), *self._uncertain(rest)]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        node.left = self.visit(node.left)
        first, *rest = node.comparators
        node.comparators = [self.visit(first), *self._uncertain(rest)]
        return node

    def _uncertain(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Replace parts that may not be evaluated: they may contain no call."""
        before, self._certain = self._certain, False
        try:
            return [self.visit(node) for node in nodes]
        finally:
            self._certain = before

    def _is_builtin(self, name: str) -> bool:
        return name in _BUILTINS and name not in self._tested and name not in self._own

    def _is_free(self, name: str) -> bool:
        """Return whether only the solution can define a name, and not a library, for example."""
        mine = name in self._known or name in self._modules or name in self._own
        common = name in common_names.NAMES and name not in self._tested
        return not mine and not common and not self._is_builtin(name)

    def _is_of_solution(self, function: ast.expr) -> bool:
        """Return whether a call of a function gives a value of the solution, and not an object."""
        match function:
            case ast.Name(id=name):
                return name in self._functions or (self._is_free(name) and not name[0].isupper())
            case ast.Attribute(value=ast.Name(id=name)):
                return self._is_free(name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id=name))):
                return self._is_free(name) and name[0].isupper()
        return False

    def _called(self, node: ast.Call) -> ast.expr:
        """Add a call, and return the name of its value."""
        if not self._certain:
            _refuse()
        function = (
            _Arguments(self).visit(node.func)
            if not isinstance(node.func, ast.Name)
            else (self._functions.get(node.func.id, node.func))
        )
        arguments = _Arguments(self)
        call = ast.Call(
            function,
            [arguments.visit(part) for part in node.args],
            [ast.keyword(part.arg, arguments.visit(part.value)) for part in node.keywords],
        )
        self.calls.append(ast.unparse(call))
        return ast.Name(value_name(len(self.calls) - 1), ast.Load())

    def argument(self, node: ast.expr) -> ast.expr:
        """Return the value of a variable, or of a part of one, that is passed to the solution."""
        value = self.part(node)
        if value is None:
            name = node.id if isinstance(node, ast.Name) else ""
            known = name in self._modules or self._is_builtin(name)
            return node if known else _refuse()
        names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
        if any(" " in name or "." in name for name in names) or self._is_passed(value):
            _refuse()
        if _is_mutable(value):
            self._passed |= {id(node) for node in ast.walk(value) if isinstance(node, ast.expr)}
        return value

    def function(self, name: ast.Name) -> ast.expr:
        """Return the root of a function of the solution, such as ``Solution``."""
        return self._functions.get(name.id, name) if self._is_free(name.id) else _refuse()


class _Arguments(ast.NodeTransformer):
    """Replaces the variables in the arguments of a call."""

    def __init__(self, unroller: _Unroller) -> None:
        self._unroller = unroller
        self._bound: set[str] = set()

    def visit(self, node: ast.AST) -> Any:
        if not self._bound:
            self._bound = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)} | {
                part.id
                for part in ast.walk(node)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }
        return super().visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node.value:
            case ast.Name() as name:
                node.value = self._root(name)
                if _has_parts(node.value):
                    _refuse()
            case ast.Call(func=ast.Name() as name) as made:
                made.func = self._root(name)
                made.args = [self.visit(part) for part in made.args]
            case _:
                return self.generic_visit(node)  # type: ignore[return-value]
        return node

    def _root(self, name: ast.Name) -> ast.expr:
        try:
            return self._unroller.function(name)
        except _NotUnrolledError:
            return self.visit_Name(name)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Pass a part of a variable, never the whole: another part may be an expected value."""
        root: ast.expr = node
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self._bound:
            return self._unroller.argument(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._bound:
            return node
        value = self._unroller.argument(node)
        return _refuse() if self._bound and value is not node and _has_parts(value) else value


def _expectation(tree: ast.expr) -> tuple[int | None, Any]:
    """Return the number of a call and the value that it must have, or None twice."""
    match tree:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for value, expected in ((left, right), (right, left)):
                gold = literal(expected)
                if isinstance(value, ast.Name) and " " in value.id and gold:
                    return int(value.id.rpartition(" ")[2]), gold[0]
    return None, None
