"""Runs a program against the tests of a problem."""

import functools
import importlib.resources
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gem_code.compare import Comparison, find_comparison
from gem_code.guest import GEM_MARK
from gem_code.suites import Case, Suite
from gem_core.sandbox import Execution, Program, Sandbox

__all__ = ["Limits", "Verdict", "judge"]

SHORT = 200
"""The maximum length of an input in a failure, in characters."""


@dataclass(frozen=True)
class Limits:
    """The resources of one test.

    Args:
        timeout: Wall time in seconds.
        memory: Memory in bytes.
        supply_names: Whether common names are provided that the program does not import.
    """

    timeout: float = 10.0
    memory: int = 1 << 30
    supply_names: bool = True


@dataclass(frozen=True)
class Verdict:
    """The result of the tests.

    Args:
        passed: The number of tests that passed.
        total: The number of tests.
        failure: The first test that failed, or None: ``kind`` (``wrong output``, ``error`` or the
            limit that was exceeded), ``test`` (its number in the row) and ``input`` (shortened).
    """

    passed: int
    total: int
    failure: Mapping[str, Any] | None = None


def judge(
    code: str,
    suite: Suite,
    *,
    sandbox: Sandbox,
    limits: Limits,
    compare: str = "exact",
    checkers: Mapping[str, Comparison] | None = None,
    stop_early: bool = True,
) -> Verdict:
    """Run ``code`` once for each test; the expected outputs never enter the sandbox.

    Args:
        code: A program that reads and prints, or that defines the tested function.
        suite: The tests.
        sandbox: The sandbox to run the program in.
        limits: The resources of each test.
        compare: The comparison, if the suite does not name one; see ``find_comparison``.
        checkers: Further comparisons by name.
        stop_early: Run no more tests after the first failure.

    Raises:
        ConfigError: There is no such comparison.
    """
    same = find_comparison(suite.compare or compare, checkers=checkers or {}, values=suite.calls)
    failures: list[dict[str, Any]] = []

    def failed(index: int, execution: Execution) -> bool:
        case = suite.cases[index]
        kind = _failure(case, execution, same, _value if suite.calls else _text)
        if kind:
            shown = _shortened(str(case.input))
            failures.append({"kind": kind, "test": case.number, "input": shown})
        return bool(kind) and stop_early

    inputs = [case.stdin for case in suite.cases]
    executions = sandbox.run_tests(_program(code, suite, limits), inputs, stop=failed)
    passed = len(executions) - len(failures)
    return Verdict(passed, len(suite.cases), failures[0] if failures else None)


def _program(code: str, suite: Suite, limits: Limits) -> Program:
    return Program(
        _caller(code) if suite.calls else code,
        timeout=limits.timeout,
        memory=limits.memory,
        supply_names=limits.supply_names,
    )


def _caller(code: str) -> str:
    """Return a program that runs a job with the functions of ``code``."""
    futures = "\n".join(_FUTURE.findall(code))  # these must be the first statements
    solution = _FUTURE.sub("", code)
    return f"{futures}\n{_guest()}\ngem_job = gem_begin()\n{solution}\ngem_end(gem_job)\n"


_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)


@functools.cache
def _guest() -> str:
    return importlib.resources.files("gem_code").joinpath("guest.py").read_text(encoding="utf-8")


def _failure(
    case: Case, execution: Execution, same: Comparison, read: Callable[[str], Any]
) -> str | None:
    """Return the kind of a failure, or None if the test passed."""
    if not execution.ok:
        return execution.limit or "error"
    try:
        output = read(execution.stdout)
    except (ValueError, TypeError, LookupError, RecursionError):
        return "no value"
    try:
        right = any(same(case.input, gold, output) for gold in case.golds)
    except Exception as error:  # noqa: BLE001 - a checker, or a value that cannot be compared
        return f"not comparable: {type(error).__name__}: {_shortened(str(error))}"
    return None if right else "wrong output"


def _text(stdout: str) -> str:
    return stdout


def _value(stdout: str) -> Any:
    line = stdout[stdout.rindex(f"\n{GEM_MARK}") :].split("\n")[1]
    return _decoded(json.loads(line.removeprefix(GEM_MARK)))


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "repr": lambda text: Foreign(str(text)),
}


@dataclass(frozen=True)
class Foreign:
    """A value of a type that cannot be sent out of the sandbox.

    Args:
        text: The ``repr`` of the value.
    """

    text: str


def _decoded(value: Any) -> Any:
    """Return the value that ``gem_code.guest`` wrote."""
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return _KINDS[kind](_decoded(content))
    return value


def _shortened(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."
