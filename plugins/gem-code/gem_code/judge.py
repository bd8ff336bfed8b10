"""Runs a program against the tests of a problem."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from gem_code.compare import Comparison, find_comparison
from gem_code.conditions import MAX_SIZE, evaluate
from gem_code.guest import GEM_MARK
from gem_code.plain import GEM_KINDS, gem_decode
from gem_code.relay import Limits, run_program
from gem_code.sources import called_solution, printing_solution
from gem_code.suites import Case, Suite
from gem_code.unroll import Condition
from gem_workers.sandbox import Execution, Program, Sandbox

__all__ = ["Limits", "Verdict", "judge"]

SHORT = 200
"""The maximum length of an input in a failure, in characters."""
MAX_DIGITS = 1000
"""The maximum number of digits of a decimal number or fraction on the host."""


@dataclass(frozen=True)
class Verdict:
    """The result of the tests.

    Args:
        passed: The number of tests that passed.
        total: The number of tests.
        failure: The first test that failed, or None: ``kind`` (``wrong output``, ``error`` or the
            limit that was exceeded), ``test`` (its number in the row) and, shortened, ``input``,
            ``expected`` and ``output``: the end of what an error printed, None if nothing is known.
        not_run: The number of tests that did not run because the limit of all tests was exceeded;
            they count as failed, and are of the kind ``total_timeout``.
    """

    passed: int
    total: int
    failure: Mapping[str, Any] | None = None
    not_run: int = 0


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
    """Run ``code`` once for each test; its process never knows an expected output.

    Tests that are programs run in another session of the sandbox. Only a forgeable test, see
    ``Suite.forgeable``, runs in the process of ``code``.

    Args:
        code: A program that reads and prints, or that defines the tested function.
        suite: The tests.
        sandbox: The sandbox to run the program in.
        limits: The resources of each test, and of all.
        compare: The comparison, if the suite does not name one; see ``find_comparison``.
        checkers: Further comparisons by name.
        stop_early: Run no more tests after the first failure.

    Raises:
        ConfigError: There is no such comparison.
        SandboxError: A test is a program, and the sandbox has no sessions.
    """
    same = find_comparison(suite.compare or compare, checkers=checkers or {}, values=suite.calls)
    failures: list[dict[str, Any]] = []
    left = limits.total

    def note(case: Case, failed: _Failed | None, seconds: float) -> bool:
        """Note the result of a test; return whether no other one is to run."""
        nonlocal left
        left -= seconds
        if failed:
            failures.append(_described(case, failed))
        return left <= 0 or (failed is not None and stop_early)

    inner = [case for case in suite.cases if case.program is None]
    executions = sandbox.run_tests(
        _program(code, suite, limits),
        [case.stdin for case in inner],
        stop=lambda index, execution: note(
            inner[index],
            _failure(inner[index], execution, same, calls=suite.calls),
            execution.duration if execution.cpu_time is None else execution.cpu_time,
        ),
    )
    run = inner[: len(executions)]
    for case in suite.cases:
        if case.program is not None and left > 0 and not (failures and stop_early):
            run.append(case)
            kind, seconds = run_program(code, case.program, sandbox=sandbox, limits=limits)
            note(case, _Failed(kind) if kind else None, seconds)
    passed, rest = len(run) - len(failures), []
    if left <= 0 and not (failures and stop_early):
        numbers = {case.number for case in run}
        rest = [case for case in suite.cases if case.number not in numbers]
    failures += [_described(case, _Failed("total_timeout")) for case in rest]
    first = min(failures, key=lambda failure: int(failure["test"]), default=None)
    return Verdict(passed, len(suite.cases), first, len(rest))


class _Failed(NamedTuple):
    """How a test failed: the kind, what was expected and what the program gave instead."""

    kind: str
    expected: str | None = None
    output: str | None = None


def _described(case: Case, failed: _Failed) -> dict[str, Any]:
    known = {name: value for name, value in failed._asdict().items() if value is not None}
    return {"test": case.number, "input": _shortened(_shown(case)), **known}


def _program(code: str, suite: Suite, limits: Limits) -> Program:
    return Program(
        called_solution(code) if suite.calls else printing_solution(code),
        timeout=limits.timeout,
        memory=limits.memory,
        supply_names=limits.supply_names,
    )


def _failure(case: Case, execution: Execution, same: Comparison, *, calls: bool) -> _Failed | None:
    """Return how a test failed, or None if it passed."""
    expected = _text(case.golds[0]) if case.golds else None
    if not execution.ok:
        said = execution.stderr.strip()
        return _Failed(execution.limit or "error", expected, said[-SHORT:] or None)
    try:
        output = _value(execution.stdout) if calls else execution.stdout
    except Exception:  # noqa: BLE001 - the program may have written anything
        return _Failed("no value", expected)
    try:
        return _compared(case, output, same)
    except Exception as error:  # noqa: BLE001 - a checker, or a value that cannot be compared
        kind = f"not comparable: {type(error).__name__}: {_shortened(str(error))}"
        return _Failed(kind, expected, _text(output))


def _compared(case: Case, output: Any, same: Comparison) -> _Failed | None:
    if not case.conditions:
        if any(same(case.input, gold, output) for gold in case.golds):
            return None
        return _Failed("wrong output", _text(case.golds[0]) if case.golds else None, _text(output))
    for one in case.conditions:
        if not _holds(one, output, same):
            if one.call is None:
                return _Failed("wrong output", _shortened(one.text), _text(output))
            return _Failed("wrong output", _text(one.gold), _text(output[one.call]))
    return None


def _holds(condition: Condition, values: Sequence[Any], same: Comparison) -> bool:
    if condition.call is None:
        return bool(evaluate(condition.tree, values))
    return same(condition.text, condition.gold, values[condition.call])


def _value(stdout: str) -> Any:
    line = stdout[stdout.rindex(f"\n{GEM_MARK}") :].split("\n")[1]
    return gem_decode(json.loads(line.removeprefix(GEM_MARK)), _KINDS)


@dataclass(frozen=True)
class Foreign:
    """A value of a type that cannot be sent out of the sandbox.

    Args:
        text: The ``repr`` of the value.
    """

    text: str


def _decimal(text: str) -> Any:
    """Return a decimal number with which calculations take little time."""
    number = Decimal(text) if len(text) <= MAX_DIGITS else None
    if number is None or (number.is_finite() and abs(number.adjusted()) > MAX_DIGITS):
        return Foreign(text)
    return number


def _integer(text: str) -> Any:
    return GEM_KINDS["int"](text) if 4 * len(text) <= MAX_SIZE else Foreign(text)


def _range(parts: Any) -> Any:
    """Return a range, unless it has too many items for the host to go through."""
    made = range(*parts)
    return Foreign(str(made)) if made[MAX_SIZE:] else made


def _fraction(parts: Any) -> Any:
    """Return a fraction with which calculations take little time."""
    texts = [str(part) for part in parts]
    return Foreign("/".join(texts)) if max(map(len, texts)) > MAX_DIGITS else Fraction(*parts)


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    **GEM_KINDS,
    "int": _integer,
    "range": _range,
    "Fraction": _fraction,
    "Decimal": _decimal,
    "array": lambda content: content[1],
    "repr": lambda text: Foreign(str(text)),
}


def _text(value: Any) -> str:
    """Return a value as a failure shows it; a text is the output of a program, or its beginning."""
    text = value.text if isinstance(value, Foreign) else value
    try:
        return _shortened(text if isinstance(text, str) else repr(text))
    except (ValueError, RecursionError):  # an integer of many digits
        return f"a {type(value).__name__} that is too large to be shown"


def _shown(case: Case) -> str:
    try:
        return str(case.input)
    except ValueError:  # an integer of many digits
        return case.stdin


def _shortened(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."
