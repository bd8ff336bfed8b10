"""The selection of ``make quick``: no slow tests, and some cases of tests with many."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import isqrt
from pathlib import Path
from statistics import mean

import pytest

__all__ = ["Choice", "SlowWriter", "choose"]

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
    """The tests to run, and those left out: slow tests, and some cases of others."""

    def __init__(self) -> None:
        self.kept: list[pytest.Item] = []
        self.slow: list[pytest.Item] = []
        self.others: list[pytest.Item] = []

    def summary(self) -> str:
        """Return one line about what is left out."""
        return (
            f"quick: {len(self.kept):,} tests selected; left out: {len(self.slow):,} slow tests "
            f"and {len(self.others):,} more cases of tests with many parameters"
        )


class SlowWriter:
    """Updates the list of slow tests; tests that did not run stay in it."""

    def __init__(self) -> None:
        self._seconds: dict[str, dict[str, float]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the duration of a test with its fixtures."""
        self._seconds[name_of(report.nodeid)][report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the list."""
        found = {name for name, each in self._seconds.items() if mean(each.values()) > SECONDS}
        both = found | slow() - self._seconds.keys()
        SLOW.write_text("".join(f"{name}\n" for name in sorted(both)), encoding="utf-8")


def slow() -> set[str]:
    """Return the names of slow tests."""
    return set(SLOW.read_text(encoding="utf-8").splitlines())


def choose(items: Iterable[pytest.Item]) -> Choice:
    """Select from tests, in their order.

    Of a test with n cases about the square root of n are selected: the first, the last, and others
    evenly between them.
    """
    choice, left_out = Choice(), slow() - ALWAYS
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    for cases in functions.values():
        name = name_of(cases[0].nodeid)
        if name in left_out or name.startswith(NEVER):
            choice.slow += cases
            continue
        chosen = spread(cases)
        choice.kept += chosen
        choice.others += [item for item in cases if item not in chosen]
    return choice


def name_of(nodeid: str) -> str:
    """Return the name of a test without its folder, which may change, and without its case."""
    return nodeid.partition("[")[0].rpartition("/")[2]


def spread(cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the first, the last, and some evenly between them."""
    wanted = min(len(cases), max(2, isqrt(len(cases))))
    return [cases[number * (len(cases) - 1) // max(1, wanted - 1)] for number in range(wanted)]
