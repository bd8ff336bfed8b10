"""Reads the parameters of an entry point from source files, without importing its module.

A help text lists the parameters of what plugins register. Importing all of it may take seconds,
because of packages such as torch. Functions, classes with ``__init__`` and dataclasses are read,
with defaults that are literals or constants of a module. Whatever else determines a signature, such
as another decorator or a computed default, needs the import.
"""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from gem_core.specs import Spec

__all__ = ["parameters_of"]

_Parameters = dict[str, Any]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MOST_STEPS = 20
"""Imports and base classes that are followed before it is given up, as they may be circular."""


def parameters_of(spec: Spec) -> dict[str, Any]:
    """Return the result of ``spec.parameters()``, if possible without importing a module.

    Args:
        spec: A spec.

    Raises:
        EntryPointError: The entry point must be loaded for this, and cannot be loaded.
    """
    kind = type(spec)
    is_plain = kind.load is Spec.load and kind.parameters is Spec.parameters
    if not is_plain or not isinstance(spec.entry_point, str):
        return spec.parameters()
    module, _, name = spec.entry_point.partition(":")
    try:
        found = list(_signature(_definition(module, name)).items())[spec.kind.given :]
    except (_UnreadableError, OSError, SyntaxError, ValueError):
        return spec.parameters()
    return dict(found) | dict(spec.kwargs)


class _UnreadableError(Exception):
    """The source does not determine the parameters."""


class _Definition(NamedTuple):
    """A statement of a module that defines a name.

    Args:
        module: The module.
        node: The statement.
        depth: Number of imports and base classes that led there.
    """

    module: str
    node: ast.stmt
    depth: int


def _file(module: str) -> Path:
    """Return the source file of a module; no package is imported to find it."""
    path, spec, parts = None, None, module.split(".")
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), path)
        if spec is None:
            raise _UnreadableError(module)
        path = spec.submodule_search_locations
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise _UnreadableError(module)
    return Path(spec.origin)


@cache
def _statements(module: str) -> dict[str, ast.stmt]:
    """Return the statements at the top of a module that define a name, by name."""
    tree = ast.parse(_file(module).read_text(encoding="utf-8"))
    return {name: node for node in tree.body for name in _defined(node)}


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | _Function):
        yield node.name
    elif isinstance(node, ast.ImportFrom | ast.Import):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (one.id for one in targets if isinstance(one, ast.Name))
    elif not isinstance(node, ast.Expr):  # such as try, which may define it in several ways
        yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _definition(module: str, name: str, depth: int = 0) -> _Definition:
    """Return the statement that defines a name; imports of the name are followed."""
    node = _statements(module).get(name)
    if node is None or depth > _MOST_STEPS:
        raise _UnreadableError(f"{module}:{name}")
    if not isinstance(node, ast.ImportFrom):
        return _Definition(module, node, depth)
    package = ""
    if node.level:
        parts = module.split(".") + ["__init__"] * (_file(module).name == "__init__.py")
        package = ".".join(parts[: -node.level])
    source = ".".join(part for part in (package, node.module) if part)
    original = next(one.name for one in node.names if (one.asname or one.name) == name)
    return _definition(source, original, depth + 1)


def _signature(found: _Definition) -> _Parameters:
    """Return the parameters of a function or class, with their defaults."""
    node = found.node
    if isinstance(node, _Function) and not node.decorator_list:
        return _of_function(found, node)
    if not isinstance(node, ast.ClassDef) or (node.keywords and found.module != "abc"):
        raise _UnreadableError(ast.dump(node)[:80])
    methods = {one.name: one for one in node.body if isinstance(one, _Function)}
    if "__new__" in methods:
        raise _UnreadableError(node.name)
    decorators = [ast.unparse(one).partition("(")[0] for one in node.decorator_list]
    if decorators in (["dataclass"], ["dataclasses.dataclass"]) and "__init__" not in methods:
        return _fields(found, node)
    if decorators:
        raise _UnreadableError(node.name)
    if "__init__" in methods:
        return dict(list(_of_function(found, methods["__init__"]).items())[1:])
    inherited = [_signature(base) for base in _bases(found, node)]
    return next((one for one in inherited if one), {})


def _bases(found: _Definition, node: ast.ClassDef) -> Iterator[_Definition]:
    for base in node.bases:
        if not isinstance(base, ast.Name):
            raise _UnreadableError(ast.unparse(base))
        yield _definition(found.module, base.id, found.depth + 1)


def _fields(found: _Definition, node: ast.ClassDef) -> _Parameters:
    """Return the fields of a dataclass, those of its bases first."""
    fields: _Parameters = {}
    for base in reversed(list(_bases(found, node))):
        if isinstance(base.node, ast.ClassDef) and base.node.decorator_list:
            fields |= _signature(base)
        elif _signature(base):
            raise _UnreadableError(node.name)
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            annotation = ast.unparse(one.annotation)
            if "InitVar" in annotation or "KW_ONLY" in annotation:
                raise _UnreadableError(annotation)
            if "ClassVar" not in annotation:
                fields[one.target.id] = _value(found, one.value)
    return fields


def _of_function(found: _Definition, node: _Function) -> _Parameters:
    arguments = node.args
    if arguments.vararg or arguments.kwarg:  # a signature of its own may say what they hold
        raise _UnreadableError(node.name)
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(named) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(named, defaults, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {argument.arg: _value(found, default) for argument, default in pairs}


def _value(found: _Definition, node: ast.expr | None) -> Any:
    """Return the value of a default; ``inspect.Parameter.empty`` if there is none."""
    if node is None:
        return inspect.Parameter.empty
    if not isinstance(node, ast.Name):
        return ast.literal_eval(node)
    constant = _definition(found.module, node.id, found.depth + 1)
    if not isinstance(constant.node, ast.Assign | ast.AnnAssign):
        raise _UnreadableError(node.id)
    return _value(constant, constant.node.value)
