"""Functions that are missing: their names, arguments and docstrings are left."""

import ast
from dataclasses import dataclass

from gem_swe.bugs import why_unusable
from gem_swe.edits import Edit, applied
from gem_swe.observations import Failure, failures
from gem_swe.repository import Repository, unknowable_in
from gem_swe.trial import try_tests

__all__ = ["Feature", "features_in"]

_LEAST_LINES = 5
"""Functions with fewer lines of code are not worth a task."""
_STATEMENT = (
    "`{function}` in `{path}` is not implemented: it raises `NotImplementedError`. Implement it as "
    "its docstring and the rest of `{name}/` ask for. Some tests of it are in `tests/`, and "
    "`{command}` runs them; the tests that are run in the end are others too. Only changes to "
    "`.py` files in `{name}/` count."
)


@dataclass(frozen=True)
class Feature:
    """A function that is missing.

    Args:
        repository: The repository as it should be.
        path: The file.
        function: The name of the function, such as ``Class.method``.
        edit: What is changed.
        failures: What fails without it.
    """

    repository: Repository
    path: str
    function: str
    edit: Edit
    failures: tuple[Failure, ...]

    @property
    def failing(self) -> tuple[str, ...]:
        """The ids of the tests that fail, in order."""
        return tuple(sorted({one.test for one in self.failures}))

    @property
    def hidden(self) -> tuple[str, ...]:
        """The ids of every second one of them, which an agent does not see."""
        return self.failing[1::2]

    @property
    def statement(self) -> str:
        """What the agent is asked to do."""
        return _STATEMENT.format(
            function=self.function,
            path=self.path,
            name=self.repository.name,
            command=self.repository.test_command,
        )


def features_in(repository: Repository) -> list[Feature]:
    """Return the functions of a repository that may be missing, in the order of their places.

    At least two tests fail without one, others pass, and its docstring says what it does.
    """
    found = []
    for path in repository.source:
        content = repository.files[path]
        for name, node in _functions(ast.parse(content)):
            edit = _emptied(path, content, node)
            if edit is None:
                continue
            files = applied(repository.files, [edit])
            observed = try_tests(files, repository.probed)
            failed = failures(repository.probed, repository.expected, observed)
            feature = Feature(repository, path, name, edit, tuple(failed))
            if why_unusable(repository, failed) or not feature.hidden:
                continue
            if not unknowable_in(repository, files, failed, hidden=feature.hidden):
                found.append(feature)
    return found


def _functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Return the public functions and methods of a file by their names."""
    found = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        start = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                found += [(f"{start}{one.name}", one)]
    return found


def _emptied(path: str, content: bytes, node: ast.FunctionDef) -> Edit | None:
    """Return the edit that leaves only the docstring of a function; None if it has none."""
    body = node.body[1:]
    if ast.get_docstring(node) is None or not body:
        return None
    lines = content.splitlines(keepends=True)
    first, last = body[0].lineno - 1, node.end_lineno or node.lineno
    if last - first < _LEAST_LINES:
        return None
    start, end = (sum(map(len, lines[:number])) for number in (first, last))
    return Edit(path, start, end, " " * body[0].col_offset + "raise NotImplementedError\n")
