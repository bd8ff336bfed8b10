"""What an agent is asked to do, written from what fails and never from what was changed."""

import ast
from collections.abc import Mapping
from typing import NamedTuple

from gem_swe.bugs import Bug, symptom
from gem_swe.observations import Failure
from gem_swe.repository import Repository

__all__ = ["statement_of"]

_OPENINGS = (
    "`{name}` does not behave as it should:",
    "There is a bug in `{name}`. Here is how to see it:",
    "A user of `{name}` reports:",
    "`{name}` gives wrong results:",
)
_SEVERAL = "There are {count} bugs in `{name}`, with different causes. Here is how to see each."
_TASK = (
    "Find the cause in the source of `{name}/` and mend it. Change nothing else of what it "
    "does. `{command}` runs the tests in `tests/`; the tests that are run in the end are others "
    "too. Only changes to `.py` files in `{name}/` count."
)
_HELPER = "raised"
"""The function in test files that returns the name of the error of a call."""


class _Example(NamedTuple):
    code: str
    outcome: str


def statement_of(bug: Bug, *, style: int = 0) -> str:
    """Return the statement of a bug: for each of its places, code whose result is wrong.

    Args:
        bug: The bug.
        style: Which wording it has, any number.

    Raises:
        ValueError: No failure can be shown.
    """
    name = bug.repository.name
    shown: dict[tuple[str, int], Failure] = {}
    together = {(one.test, one.number): one for one in bug.failures}
    for found in bug.single_failures:
        # What comes is that of all bugs together, as the agent will see it.
        visible = [together[key] for one in found if (key := (one.test, one.number)) in together]
        failure = symptom(bug.repository, visible) or symptom(bug.repository, found)
        if failure is None:
            raise ValueError("no failure can be shown")
        shown[failure.test, failure.number] = failure
    examples = [_example(bug.repository, one) for one in shown.values()]
    parts = [_OPENINGS[style % len(_OPENINGS)].format(name=name)]
    if len(examples) > 1:
        parts = [_SEVERAL.format(count=len(examples), name=name)]
    parts += [f"```python\n{one.code}\n```\n\n{one.outcome}" for one in examples]
    parts.append(_TASK.format(name=name, command=bug.repository.test_command))
    return "\n\n".join(parts)


def _example(repository: Repository, failure: Failure) -> _Example:
    probe = repository.probed.probes[failure.test][failure.probe or 0]
    expression, is_helped = _without_helper(probe.expression)
    code = "\n".join([*probe.before, expression])
    context = repository.probed.contexts[failure.test.partition("::")[0]]
    needed = _needed(code, context)
    imports = [text for text in needed if text.startswith(("import ", "from "))]
    others = [text for text in needed if text not in imports]
    code = "\n\n".join(filter(None, ["\n".join(imports), *others, code]))
    if is_helped:
        wanted, got = failure.expected.strip("'"), failure.got.strip("'")
        came = f"raises `{got}`" if got else "raises no error"
        should = f"raise `{wanted}`" if wanted else "raise no error"
        return _Example(code, f"The last line {came}. It should {should}.")
    came = _came(failure.got)
    should = f"raise `{probe.raises}`" if probe.raises else f"give `{failure.expected}`"
    if probe.is_truth:
        should = f"give something {'true' if failure.expected != 'False' else 'false'}"
    return _Example(code, f"The last line {came}. It should {should}.")


def _came(got: str) -> str:
    name = got.partition(":")[0]
    is_error = name.isidentifier() and name[0].isupper() and name not in {"None", "True", "False"}
    return f"raises `{got}`" if is_error else f"gives `{got}`"


def _without_helper(expression: str) -> tuple[str, bool]:
    """Return what is called in ``raised(lambda: ...)``, and whether it was there."""
    node = ast.parse(expression, mode="eval").body
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _HELPER:
        inner = node.args[0]
        if isinstance(inner, ast.Lambda):
            return ast.unparse(inner.body), True
    return expression, False


def _needed(code: str, context: Mapping[str, str]) -> list[str]:
    """Return the definitions of a test file that code needs, in the order of the file."""
    wanted: set[str] = set()
    pending = [code]
    while pending:
        for name in _free_names(pending.pop()) & context.keys():
            if context[name] not in wanted:
                wanted.add(context[name])
                pending.append(context[name])
    needed = [text for text in dict.fromkeys(context.values()) if text in wanted]
    used = set().union(*map(_free_names, [code, *needed]))
    return [_imported(text, used) for text in needed]


def _free_names(code: str) -> set[str]:
    """Return the names that code reads and does not set itself."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - own


def _imported(text: str, used: set[str]) -> str:
    """Return an import without the names that are not used; other code as it is."""
    (node,) = ast.parse(text).body
    if not isinstance(node, ast.ImportFrom):
        return text
    node.names = [one for one in node.names if (one.asname or one.name) in used]
    return ast.unparse(node)
