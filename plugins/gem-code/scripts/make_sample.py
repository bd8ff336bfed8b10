# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Generate the problems that gem-code ships: ``gem_code/data/sample.jsonl``.

The package ``sample`` contains the problems, one module per topic. Each has a reference solution,
whose outputs on generated inputs become the tests, and an independent brute-force solution, which
must agree with it on every input that is small enough. An example is added to each statement. The
same seed generates the same file::

    uv run plugins/gem-code/scripts/make_sample.py
"""

import contextlib
import copy
import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

from sample import (
    arithmetic,
    choices,
    functions,
    graphs,
    grids,
    measures,
    processes,
    sequences,
    texts,
)
from sample.problem import Problem

__all__ = ["DATA", "PROBLEMS", "TESTS", "make_row", "write"]

DATA = Path(__file__).parents[1] / "gem_code" / "data" / "sample.jsonl"
SEED = 5
TESTS = range(8, 13)
"""The allowed numbers of tests per problem."""

_TOPICS = (
    arithmetic,
    texts,
    sequences,
    grids,
    graphs,
    choices,
    measures,
    processes,
    functions,
)
PROBLEMS: list[Problem] = [problem for topic in _TOPICS for problem in topic.PROBLEMS]


def write(path: Path = DATA) -> None:
    """Write all problems, one per line."""
    lines = [json.dumps(make_row(problem)) for problem in PROBLEMS]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_row(problem: Problem) -> dict[str, Any]:
    """Return a problem with its tests.

    Raises:
        ValueError: The two solutions disagree, or there are too few or too many tests.
    """
    rng = random.Random(f"{SEED} {problem.name}")
    inputs, outputs = [], []
    for given, output in _tested(problem, rng):
        inputs.append(given)
        outputs.append(output)
    if len(inputs) not in TESTS:
        raise ValueError(f"{problem.name} has {len(inputs)} tests")
    tests = {"inputs": inputs, "outputs": outputs, "compare": problem.compare}
    if problem.function:
        tests["fn_name"] = problem.function
    return {
        "name": problem.name,
        "topic": problem.topic,
        "level": problem.level,
        "problem": f"{problem.text}\n\n{_example(problem, inputs, outputs)}",
        "tests": tests,
        "solution": problem.solution.strip(),
    }


def _tested(problem: Problem, rng: random.Random) -> Iterator[tuple[Any, Any]]:
    solve = _function(problem) if problem.function else _program(problem)
    for given in problem.inputs(rng):
        output = solve(given)
        arguments = copy.deepcopy(given) if problem.function else [given]
        expected = problem.brute(*arguments)
        if not _same(output, expected, problem):
            raise ValueError(f"{problem.name}: {given!r} gives {output!r}, not {expected!r}")
        yield given, output
    for given in problem.large(rng):
        yield given, solve(given)


def _program(problem: Problem) -> Callable[[str], str]:
    code = compile(problem.solution, problem.name, "exec")

    def solve(stdin: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), mock.patch("sys.stdin", io.StringIO(stdin)):
            exec(code, {"__name__": "__main__"})  # noqa: S102 - written in this folder
        return printed.getvalue()

    return solve


def _function(problem: Problem) -> Callable[[list[Any]], Any]:
    names: dict[str, Any] = {}
    exec(problem.solution, names)  # noqa: S102 - written in this folder
    return lambda arguments: names[problem.function](*copy.deepcopy(arguments))


def _same(output: Any, expected: Any, problem: Problem) -> bool:
    if problem.compare == "float":
        pairs = zip(str(output).split(), str(expected).split(), strict=True)
        return all(abs(float(a) - float(b)) <= 1e-7 * max(1, abs(float(b))) for a, b in pairs)
    if problem.function:
        return bool(output == expected)
    return str(output).split() == str(expected).split()


def _example(problem: Problem, inputs: list[Any], outputs: list[Any]) -> str:
    """Return the most informative test among the short ones."""
    shown = max(
        (one for one in range(len(inputs)) if len(str(inputs[one])) <= 60),
        key=lambda one: (len(str(outputs[one])) <= 60, len(str(inputs[one]))),
    )
    if problem.function:
        arguments = ", ".join(map(repr, inputs[shown]))
        return f"For example, {problem.function}({arguments}) returns {outputs[shown]!r}."
    return f"For example, for\n\n{inputs[shown].rstrip()}\n\nprint\n\n{outputs[shown].rstrip()}"


if __name__ == "__main__":
    write()
