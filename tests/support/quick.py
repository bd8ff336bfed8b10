"""The selections of ``make test`` and ``make quick``.

``make test`` leaves out some cases of the tests marked ``thorough``, which ``--thorough`` runs.
``make quick`` leaves out slow tests, and some cases of all tests with many.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import isqrt
from pathlib import Path
from statistics import mean

import pytest

__all__ = ["Choice", "SlowWriter", "choose", "choose_cases"]

SLOW = Path(__file__).with_name("slow.txt")
"""The names of slow tests, as measured by ``make test ARGS=--write-slow``."""
SECONDS = 0.05
"""A test is slow if it takes longer with its fixtures, on average over its cases."""
ALWAYS = {
    "test_cli.py::test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on",
    "test_evaluate.py::test_a_run_goes_on_where_it_was_and_repeats_nothing",
    "test_warm_places.py::test_programs_find_what_they_were_given_wherever_the_interpreter_lies",
}
"""Slow tests that are too important to leave out."""
NEVER = ("test_third_party.py::", "test_index.py::TestFiftyThousand::")
"""Tests with a slow fixture in common, which the first of them sets up."""


class Choice:
    """The tests to run, in their order, and those left out: slow tests, and some cases of others.

    The order matters: tests that share a fixture with parameters lie beside each other.
    """

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self.kept = list(items)
        self.slow: list[pytest.Item] = []
        self.others: list[pytest.Item] = []

    def leave_out(self, *, slow: Sequence[pytest.Item], others: Sequence[pytest.Item]) -> None:
        """Leave out slow tests, and cases of others."""
        self.slow, self.others = [*slow], [*others]
        left_out = {*slow, *others}
        self.kept = [item for item in self.kept if item not in left_out]

    def summary(self) -> str:
        """Return one line about what ``make quick`` leaves out."""
        return (
            f"quick: {len(self.kept):,} tests selected; left out: {len(self.slow):,} slow tests "
            f"and {len(self.others):,} more cases of tests with many parameters; make test runs "
            "them."
        )

    def summary_of_cases(self) -> str:
        """Return one line about the cases that ``--thorough`` adds, if there are any."""
        return f"{len(self.others):,} more cases run with --thorough." if self.others else ""


class SlowWriter:
    """Updates the list of slow tests; those that did not run, or were skipped, stay in it."""

    def __init__(self) -> None:
        self._seconds: dict[str, dict[str, float]] = defaultdict(Counter)
        self._skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the duration of a test with its fixtures."""
        name = name_of(report.nodeid)
        self._seconds[name][report.nodeid] += report.duration
        if report.skipped:
            self._skipped.add(name)

    def pytest_sessionfinish(self) -> None:
        """Write the list."""
        found = {name for name, each in self._seconds.items() if mean(each.values()) > SECONDS}
        both = found | slow() - (self._seconds.keys() - self._skipped)
        SLOW.write_text("".join(f"{name}\n" for name in sorted(both)), encoding="utf-8")


def slow() -> set[str]:
    """Return the names of slow tests."""
    return set(SLOW.read_text(encoding="utf-8").splitlines())


def choose(items: Sequence[pytest.Item]) -> Choice:
    """Select from tests for ``make quick``.

    Of a test with n cases about the square root of n are selected: the first, the last, and others
    evenly between them.
    """
    choice, left_out = Choice(items), slow() - ALWAYS
    slow_ones: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for cases in functions(items):
        name = name_of(cases[0].nodeid)
        if name in left_out or name.startswith(NEVER):
            slow_ones += cases
        else:
            others += rest(cases)
    choice.leave_out(slow=slow_ones, others=others)
    return choice


def choose_cases(items: Sequence[pytest.Item]) -> Choice:
    """Select from tests without ``--thorough``: as ``choose`` does from those so marked."""
    choice = Choice(items)
    marked = [item for item in items if item.get_closest_marker("thorough")]
    choice.leave_out(slow=[], others=[one for cases in functions(marked) for one in rest(cases)])
    return choice


def functions(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """Return the cases of each test."""
    found: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[item.nodeid.partition("[")[0]].append(item)
    return found.values()


def name_of(nodeid: str) -> str:
    """Return the name of a test without its folder, which may change, and without its case."""
    return nodeid.partition("[")[0].rpartition("/")[2]


def rest(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return all but the first, the last, and some evenly between them."""
    wanted = min(len(cases), max(2, isqrt(len(cases))))
    kept = {number * (len(cases) - 1) // max(1, wanted - 1) for number in range(wanted)}
    return [case for number, case in enumerate(cases) if number not in kept]
