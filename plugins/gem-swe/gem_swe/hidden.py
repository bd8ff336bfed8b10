"""Test files without the tests that grade."""

import ast
from collections.abc import Collection, Sequence

__all__ = ["find_tests", "without_tests"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def without_tests(path: str, content: bytes, hidden: Collection[str]) -> bytes:
    """Return a test file without some of its tests.

    Args:
        path: The path of the file, with which the ids of its tests begin.
        content: What is in it.
        hidden: The ids of tests, also of other files; those that ``find_tests`` does not find are
            left.

    Raises:
        SyntaxError: It is not Python.
    """
    names = [one.split("::")[1:] for one in hidden if one.startswith(f"{path}::")]
    if not names:
        return content
    tree = ast.parse(content)
    removed = {node for one in names for node in find_tests(tree, one)}
    lines = content.splitlines(keepends=True)  # as Python counts them, which a text does not
    for node in removed:
        first, last = _lines_of(node, lines)
        lines[first:last] = [b""] * (last - first)
    for owner in ast.walk(tree):
        if isinstance(owner, ast.ClassDef) and removed.issuperset(owner.body):
            lines[owner.body[0].lineno - 1] = b" " * owner.body[0].col_offset + b"pass\n"
    return b"".join(lines)


def find_tests(tree: ast.Module, names: Sequence[str]) -> list[_Function]:
    """Return the functions of a test, which its class may inherit from another of the file.

    Args:
        tree: The file.
        names: The name of the test, after those of its classes from the outside in.

    Returns:
        The definitions of this name, of which the last one counts; none if the file has none, or
        names it elsewhere.
    """
    owner: ast.Module | ast.ClassDef = tree
    for name in names[:-1]:
        inner = _named(owner, name)
        if not inner or not isinstance(inner[-1], ast.ClassDef):
            return []
        owner = inner[-1]
    if any(getattr(node, "id", getattr(node, "attr", "")) == names[-1] for node in ast.walk(tree)):
        return []
    return _methods(tree, owner, names[-1], set())


def _methods(
    tree: ast.Module, owner: ast.Module | ast.ClassDef, name: str, seen: set[ast.AST]
) -> list[_Function]:
    found = [one for one in _named(owner, name) if isinstance(one, _Function)]
    if found:
        return found
    seen.add(owner)
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    for named in (_named(tree, one.id) for one in bases if isinstance(one, ast.Name)):
        base = named[-1] if named else None
        if isinstance(base, ast.ClassDef) and base not in seen:
            inherited = _methods(tree, base, name, seen)
            if inherited:
                return inherited
    return []


def _named(owner: ast.Module | ast.ClassDef, name: str) -> list[ast.stmt]:
    """Return the definitions of a name."""
    return [one for one in owner.body if getattr(one, "name", None) == name]


def _lines_of(node: _Function, lines: Sequence[bytes]) -> tuple[int, int]:
    """Return the first line of a definition with the empty ones before it, and the one after it."""
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
    while first > 0 and not lines[first - 1].strip():
        first -= 1
    return first, node.end_lineno or node.lineno
