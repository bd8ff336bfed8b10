"""Tasks of tau-bench 1: a folder of JSON files, a policy, and Python modules with the tasks.

The modules are parsed, and never executed. A module may import names, and assign literal values:
lists of calls of ``Task``, or of dicts. Anything else is an error with the file and the line.

A reference ``respond`` does not call a tool, and is left out; ``annotator`` and ``user_id`` have no
effect on an episode.
"""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from gem_core.errors import ConfigError, DataError, near_names
from gem_tau.database import Base
from gem_tau.readers.businesses import Business
from gem_tau.readers.fields import Fields, Tool, checked
from gem_tau.readers.files import base_of_folder, read_text
from gem_tau.readers.replay import try_calls
from gem_tau.readers.users import goal_kind, scenario_of_text
from gem_tau.task import Call, DialogueTask, Domain, Mention

__all__ = ["is_folder", "read"]

_RESPOND = "respond"
_CONSTRUCTORS = ("Task", "Action")
_LITERALS = (str, bool, int, float, type(None))


def is_folder(folder: Path) -> bool:
    """Return whether a folder has tasks in this format."""
    return bool(_modules(folder))


def _modules(folder: Path) -> dict[str, Path]:
    """Return the modules with tasks by their splits; ``tasks.py`` counts if it is the only one."""
    found = {path.stem.removeprefix("tasks_"): path for path in sorted(folder.glob("tasks_*.py"))}
    single = folder / "tasks.py"
    return found or ({"test": single} if single.is_file() else {})


def read(folder: Path, business: Business, split: str | None) -> list[DialogueTask]:
    """Return the tasks of a split; None for ``test``.

    Raises:
        ConfigError: There is no such split.
        DataError: The folder cannot be read.
    """
    modules = _modules(folder)
    split = split or "test"
    if split not in modules:
        raise ConfigError(
            f"{folder} has no split {split!r}.{near_names(split, modules)} "
            f"There are: {', '.join(modules)}."
        )
    base = base_of_folder(folder / "data", business)
    policy = read_text(folder / "wiki.md")
    domain = Domain(business.name, business.toolkit(is_v1=True), policy)
    return [
        _task(where, row, f"{business.name}-{split}-{number}", base, domain)
        for number, (where, row) in enumerate(_rows(modules[split], split))
    ]


class _Action(Fields):
    name: Tool
    kwargs: dict[str, Any] | None = None
    arguments: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.kwargs is None) == (self.arguments is None):
            raise ValueError("needs its arguments once, as kwargs or as arguments")
        return self


class _Task(Fields):
    annotator: Any = None
    user_id: str
    instruction: str
    actions: list[_Action]
    outputs: list[str] | None = None


def _task(where: str, row: Any, task_id: str, base: Base, domain: Domain) -> DialogueTask:
    tools = [one.name for one in domain.toolkit.functions()]
    fields = checked(_Task, row, where, {"tools": [*tools, _RESPOND]})
    actions = tuple(
        Call(one.name, one.kwargs or one.arguments or {})
        for one in fields.actions
        if one.name != _RESPOND
    )
    said = tuple(map(Mention, fields.outputs or ()))
    kind = goal_kind(actions, domain.toolkit, has_outputs=bool(said))
    scenario = scenario_of_text(fields.instruction, kind=kind)
    task = DialogueTask(task_id, domain, base, scenario, actions, said)
    try_calls(task, where, "actions")
    return task


def _rows(path: Path, split: str) -> list[tuple[str, Any]]:
    """Return the tasks in a module, each with its place for messages."""
    lists = dict(_lists(_parsed(path), path))
    names = [name for name in lists if name.lower() in {f"tasks_{split}", "tasks"}]
    if len(names) != 1:
        found = ", ".join(lists) or "none"
        raise DataError(
            f"{path} must have one list TASKS or TASKS_{split.upper()}; found: {found}."
        )
    rows = lists[names[0]].elts
    if not rows:
        raise DataError(f"{path}:{lists[names[0]].lineno}: the list has no tasks.")
    return [
        (f"{path}:{row.lineno}: task {number}", _value(row, path))
        for number, row in enumerate(rows)
    ]


def _parsed(path: Path) -> ast.Module:
    text = read_text(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the syntax of strings
            return ast.parse(text)
    except SyntaxError as error:
        raise DataError(
            f"{path}:{error.lineno or 1}: it is not valid Python: {error.msg}."
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"{path} cannot be parsed: {error}.") from error


def _lists(module: ast.Module, path: Path) -> Iterator[tuple[str, ast.List]]:
    """Yield the lists that a module assigns, with their names."""
    for node in module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        target, value = _assignment(node)
        if target is None or value is None:
            raise _error(path, node, "a module of tasks may import, and assign literal values")
        if isinstance(value, ast.List):
            yield target, value
        else:
            _value(value, path)


def _assignment(node: ast.stmt) -> tuple[str | None, ast.expr | None]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, ast.Assign | ast.AnnAssign) or len(targets) != 1:
        return None, None
    target = targets[0]
    return (target.id if isinstance(target, ast.Name) else None), node.value


def _value(node: ast.expr, path: Path) -> Any:
    """Return the value of an expression of literals and of calls of ``Task`` and ``Action``."""
    if isinstance(node, ast.Call):
        return _fields_of_call(node, path)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(one, path) for one in node.elts]
    if isinstance(node, ast.Dict):
        return {_key(key, node, path): _value(one, path) for key, one in _items(node)}
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        value = ...
    if not isinstance(value, _LITERALS):
        raise _error(path, node, "this is not a literal value")
    return value


def _items(node: ast.Dict) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    return zip(node.keys, node.values, strict=True)


def _key(node: ast.expr | None, whole: ast.Dict, path: Path) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _error(path, node or whole, "a key must be a text")


def _fields_of_call(node: ast.Call, path: Path) -> dict[str, Any]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _CONSTRUCTORS:
        raise _error(path, node, f"only {' and '.join(_CONSTRUCTORS)} may be called")
    if node.args or any(one.arg is None for one in node.keywords):
        raise _error(path, node, f"{name} takes its fields by name")
    return {str(one.arg): _value(one.value, path) for one in node.keywords}


def _error(path: Path, node: ast.AST, problem: str) -> DataError:
    return DataError(f"{path}:{getattr(node, 'lineno', 1)}: {problem}: {ast.unparse(node)[:60]!r}.")
