"""Bugs of one place: what a slip of a programmer would leave in a line.

Each operator is a function in ``OPERATORS``. It gets a node of the syntax tree and yields the edits
that would make a bug of it; edits keep the rest of the file as it is, with its comments.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gem_swe.code_text import CodeText
from gem_swe.edits import Edit

__all__ = ["OPERATORS", "Mutation", "mutations_of"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPARED = {
    "<": ("<=", ">"),
    "<=": ("<",),
    ">": (">=", "<"),
    ">=": (">",),
    "==": ("!=",),
    "!=": ("==",),
    "in": ("not in",),
    "not in": ("in",),
    "is": ("is not",),
    "is not": ("is",),
}
_CALCULATED = {
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("//", "*"),
    "//": ("/",),
    "%": ("//",),
    "and": ("or",),
    "or": ("and",),
    "|": ("&",),
    "&": ("|",),
}
_CHANGES_STATE = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft",
    "remove", "setdefault", "sort", "update",
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A bug of one place.

    Args:
        operator: What kind of bug it is, such as ``comparison``.
        path: The file.
        line: The line, from 1.
        function: The function that it is in, such as ``Class.method``; empty at the top level.
        edits: What is changed.
    """

    operator: str
    path: str
    line: int
    function: str
    edits: tuple[Edit, ...]


def mutations_of(path: str, content: bytes) -> list[Mutation]:
    """Return the bugs that each operator makes of a file of Python, in the order of their places.

    Args:
        path: The path of the file in its repository.
        content: What is in it.

    Raises:
        SyntaxError: It is not Python.
        UnicodeDecodeError: It is not in UTF-8.
    """
    source = _Source(path, content)
    found = {
        Mutation(name, path, node.lineno, source.function_of(node), edits)
        for node in source.nodes
        for name, operator in OPERATORS.items()
        for edits in operator(source, node)
    }
    kept = [one for one in found if one.function]
    return sorted(kept, key=lambda one: (one.line, one.edits, one.operator))


class _Source(CodeText):
    """A file as text and as a tree.

    Args:
        path: Its path.
        content: What is in it.
    """

    def __init__(self, path: str, content: bytes) -> None:
        super().__init__(content)
        self.path = path
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.expr | ast.stmt] = []
        tree = ast.parse(content)
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt):
                self.nodes.append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    def put(self, start: int, end: int, text: str) -> tuple[Edit, ...]:
        """Return the edit that puts a text in a place."""
        return (Edit(self.path, start, end, text),)

    def replace(self, node: ast.expr | ast.stmt, text: str) -> tuple[Edit, ...]:
        """Return the edit that puts a text in the place of a node."""
        return self.put(self.start(node), self.end(node), text)

    def between(self, left: ast.expr, right: ast.expr, word: str) -> tuple[int, int] | None:
        """Return where an operator stands between two operands."""
        start = self.end(left)
        gap = self.content[start : self.start(right)].decode()
        pattern = r"\s+".join(map(re.escape, word.split()))
        if word[0].isalpha():
            pattern = rf"\b{pattern}\b"
        match = re.search(pattern, re.sub(r"#.*", lambda one: " " * len(one[0]), gap))
        if match is None or not gap.isascii():
            return None
        return start + match.start(), start + match.end()

    def function(self, node: ast.AST) -> _Function | None:
        """Return the function that a node is in."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, _Function):
            above = self.parents.get(above)
        return above

    def function_of(self, node: ast.AST) -> str:
        """Return the name of the function that a node is in, with its classes."""
        names: list[str] = []
        child, above = node, self.parents.get(node)
        while above is not None:
            if isinstance(above, _Function) and child not in above.decorator_list:
                names += ["<locals>", above.name] if names else [above.name]
            elif isinstance(above, ast.ClassDef) and names:
                names.append(above.name)
            child, above = above, self.parents.get(above)
        return ".".join(reversed(names))

    def removed(self, node: ast.stmt) -> tuple[Edit, ...]:
        """Return the edit that removes a statement; ``pass`` if nothing else is in its block."""
        if self._is_alone(node):
            return self.replace(node, "pass")
        start = self.starts[node.lineno - 1]
        last = (node.end_lineno or node.lineno) - 1
        end = self.starts[last + 1]
        if (
            self.content[start : self.start(node)].strip()
            or self.content[self.end(node) : end].strip()
        ):
            return self.replace(node, "pass")
        return self.put(start, end, "")

    def _is_alone(self, node: ast.stmt) -> bool:
        above = self.parents[node]
        for _, block in ast.iter_fields(above):
            if isinstance(block, list) and node in block:
                return len(block) == 1
        return True


_Edits = Iterator[tuple[Edit, ...]]


def _comparison(source: _Source, node: ast.AST) -> _Edits:
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for left, right, kind in zip(operands, operands[1:], node.ops, strict=False):
        yield from _swapped(source, left, right, _SIGNS[type(kind)], _COMPARED)


def _operator(source: _Source, node: ast.AST) -> _Edits:
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        yield from _swapped(source, node.left, node.right, _SIGNS[type(node.op)], _CALCULATED)
    elif isinstance(node, ast.BoolOp):
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from _swapped(source, left, right, _SIGNS[type(node.op)], _CALCULATED)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        sign, other = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
        place = source.between(node.target, node.value, sign)
        if place is not None:
            yield source.put(*place, other)


_SIGNS: Mapping[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.And: "and", ast.Or: "or", ast.BitOr: "|", ast.BitAnd: "&",
}  # fmt: skip


def _swapped(
    source: _Source,
    left: ast.expr,
    right: ast.expr,
    sign: str,
    others: Mapping[str, tuple[str, ...]],
) -> _Edits:
    place = source.between(left, right, sign)
    if place is not None and not _is_annotation(source, left):
        for other in others.get(sign, ()):
            yield source.put(*place, other)


def _is_annotation(source: _Source, node: ast.AST) -> bool:
    """Return whether an expression is a type, which does nothing."""
    while (above := source.parents.get(node)) is not None:
        if isinstance(above, ast.arg) or (
            isinstance(above, ast.AnnAssign) and above.annotation is node
        ):
            return True
        if isinstance(above, _Function) and above.returns is node:
            return True
        node = above
    return False


def _constant(source: _Source, node: ast.AST) -> _Edits:
    if isinstance(node, ast.Constant) and not _is_default(source, node):
        for text in _other_constants(node.value):
            yield source.replace(node, text)


def _other_constants(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (str(not value),)
    if isinstance(value, int):
        return (str(value + 1), str(value - 1)) if value else ("1",)
    return ()


def _is_default(source: _Source, node: ast.expr) -> bool:
    above = source.parents[node]
    return isinstance(above, ast.arguments) and node in {*above.defaults, *above.kw_defaults}


def _default(source: _Source, node: ast.AST) -> _Edits:
    if isinstance(node, ast.Constant) and _is_default(source, node):
        for text in _other_constants(node.value):
            yield source.replace(node, text)


def _condition(source: _Source, node: ast.AST) -> _Edits:
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        test = node.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield source.replace(test, source.text(test.operand))
        elif isinstance(test, ast.Name | ast.Attribute | ast.Call):
            yield source.replace(test, f"not {source.text(test)}")


def _early_return(source: _Source, node: ast.AST) -> _Edits:
    if isinstance(node, ast.Break | ast.Continue):
        yield source.replace(node, "continue" if isinstance(node, ast.Break) else "break")
    if not isinstance(node, ast.For | ast.While):
        return
    above = source.parents[node]
    body = getattr(above, "body", [])
    after = body[body.index(node) + 1 :] if node in body else []
    if len(after) == 1 and isinstance(after[0], ast.Return) and after[0].value is not None:
        last = node.body[-1]
        indent = " " * node.body[0].col_offset
        end = source.end(last)
        yield source.put(end, source.end(after[0]), f"\n{indent}{source.text(after[0])}")


def _argument_order(source: _Source, node: ast.AST) -> _Edits:
    if not isinstance(node, ast.Call):
        return
    for first, second in zip(node.args, node.args[1:], strict=False):
        if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
            continue
        one, other = source.text(first), source.text(second)
        if one != other and type(first) is type(second):
            yield (*source.replace(first, other), *source.replace(second, one))


def _removed_branch(source: _Source, node: ast.AST) -> _Edits:
    if not isinstance(node, ast.If):
        return
    above = source.parents[node]
    is_elif = isinstance(above, ast.If) and above.orelse == [node]
    is_elif = is_elif and source.content[source.start(node) :].startswith(b"elif")
    if is_elif and isinstance(above, ast.If) and not node.orelse:
        yield source.put(source.end(above.body[-1]), source.end(node), "")
    elif is_elif and node.orelse and isinstance(node.orelse[0], ast.If):
        yield source.put(source.start(node), source.start(node.orelse[0]), "")
    elif not node.orelse and isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue):
        yield source.removed(node)
    elif node.orelse and not isinstance(node.orelse[0], ast.If):
        yield source.put(source.end(node.body[-1]), source.end(node.orelse[-1]), "")


def _swapped_names(source: _Source, node: ast.AST) -> _Edits:
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    function = source.function(node)
    if function is None or _is_annotation(source, node):
        return
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    types = {one.arg: ast.unparse(one.annotation) for one in given if one.annotation is not None}
    if node.id in types:
        for name, kind in types.items():
            if name != node.id and kind == types[node.id]:
                yield source.replace(node, name)


def _stale_state(source: _Source, node: ast.AST) -> _Edits:
    function = source.function(node)
    if function is None or function.name in {"__init__", "__post_init__"}:
        return
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if all(map(_is_state, targets)):
            yield source.removed(node)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if isinstance(called, ast.Attribute) and called.attr in _CHANGES_STATE:
            yield source.removed(node)


def _is_state(target: ast.expr) -> bool:
    """Return whether an assignment changes an attribute, or an item of one, of ``self``."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
        if isinstance(target, ast.Name) and target.id == "self":
            return True
    return False


OPERATORS: dict[str, Callable[[_Source, ast.AST], _Edits]] = {
    "comparison": _comparison,
    "operator": _operator,
    "constant": _constant,
    "condition": _condition,
    "early return": _early_return,
    "argument order": _argument_order,
    "removed branch": _removed_branch,
    "wrong default": _default,
    "swapped names": _swapped_names,
    "stale state": _stale_state,
}
