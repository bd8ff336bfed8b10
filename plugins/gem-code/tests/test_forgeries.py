"""No program is paid without solving the problem, in any form of tests that is not forgeable."""

import contextlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from forgery_backends import BACKENDS, make_backend
from selection import some, thorough

from gem_code.judge import Limits, judge
from gem_code.suites import Suite, read_suite

FORGERIES = sorted((Path(__file__).parent / "forgeries").glob("*.py"))
PARTS = 12
VALUES = """
import math

def test_values():
    assert square(3) == 9
    for number, expected in [(4, 16), (5, 25)]:
        assert square(number) == expected

def test_conditions():
    assert square(3) > 8
    assert abs(square(4) - 16) < 1e-6
    assert math.isclose(square(5), 25)
    assert square(6) in (35, 36)
"""
SQUARES = """
import random

def helper(value, expected):
    return value == expected

def test_random_numbers():
    for _ in range(2):
        number = random.randrange(10, 99)
        assert square(number) == number * number

def test_a_helper():
    assert helper(square(3), 9)

def test_an_iteration():
    assert all(map(lambda number: square(number) == number * number, [3, 4]))

def test_a_lazy_condition():
    assert square(3) and square(3) < 10 and square(3) > 8

def test_a_list_of_results():
    expected = [square(number) for number in (3, 4)]
    assert expected == [9, 16]
"""
CHANGES = """
def test_a_change_of_an_argument():
    numbers = [3, 1, 2]
    arrange(numbers)
    assert numbers == [1, 2, 3]

def test_a_property():
    numbers = [3, 1, 2]
    assert arranged(numbers) == sorted(numbers)

def test_an_object():
    squarer = Squarer()
    squarer.add(1)
    assert squarer.square(2) == 9
"""
UNITTEST = """
import unittest

class TestSquare(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(square(3), 9)

    def setUp(self):
        self.squarer = Squarer()

    def test_an_object(self):
        self.squarer.add(1)
        self.assertEqual(self.squarer.square(2), 9)
"""
ANY_OF_UNITTEST = """
import unittest

class TestSquare(unittest.TestCase):
    def setUp(self):
        self.attempts = [self.equal, self.an_object]

    def equal(self):
        self.assertEqual(square(3), 9)

    def an_object(self):
        squarer = Squarer()
        squarer.add(1)
        self.assertEqual(squarer.square(2), 9)

    def test_any(self):
        passed = 0
        for attempt in self.attempts:
            try:
                attempt()
            except BaseException:
                continue
            passed += 1
        assert passed
"""
CHECK = """
def check(candidate):
    assert candidate(3) == 9
    assert candidate(4) == 16
"""
RANDOM_CHECK = """
import random
def check(candidate):
    number = random.randrange(10, 99)
    assert candidate(number) == number ** 2
"""
LITERALS = """
def test_literals():
    assert square(3) == 9
    assert square(4) == 16
"""
NO_LITERALS = """
def test_no_literals():
    assert square(3) == sum([3] * 3)
    assert square(-3) > 8
    assert square(4) < 17
"""


def any_of(source):
    """Return a program with one test, which passes if any test of a program passes."""
    attempts = re.sub(r"^def test_", "def try_", source, flags=re.MULTILINE)
    names = "".join(f"{name}, " for name in re.findall(r"^def (try_\w+)", attempts, re.MULTILINE))
    return f"""{attempts}
def test_any():
    passed = 0
    for attempt in ({names}):
        try:
            attempt()
        except BaseException:
            continue
        passed += 1
    assert passed
"""


UNROLLED = [VALUES, CHECK, LITERALS, NO_LITERALS]
TOGETHER = [*UNROLLED, any_of(SQUARES), any_of(CHANGES), ANY_OF_UNITTEST, RANDOM_CHECK]
"""Tests in all protected forms, of which many share a process of tests and one of the solution."""
SEPARATE = [*UNROLLED, SQUARES, CHANGES, UNITTEST, RANDOM_CHECK]
"""The same, each in its own processes."""
SOLVED = """
def square(number):
    return number * number

def arrange(numbers):
    numbers.sort()

def arranged(numbers):
    numbers.sort()
    return numbers

class Squarer:
    def __init__(self):
        self.more = 0

    def add(self, more):
        self.more += more

    def square(self, number):
        return square(number + self.more)
"""
LIMITS = Limits(timeout=10.0, memory=1 << 28)
BRIEF = replace(LIMITS, timeout=0.2)
"""Enough for programs that are only ever ended by their time limit."""


def suite_of(programs):
    """Return the tests of several programs, each of which is read alone."""
    cases = [case for program in programs for case in read_suite(program, "square").cases]
    numbered = (case._replace(number=number) for number, case in enumerate(cases))
    return Suite(tuple(numbered), calls=True)


@pytest.fixture(scope="module")
def suite():
    return suite_of(SEPARATE if thorough() else TOGETHER)


def limits_of(path):
    return BRIEF if path.stem.startswith("never_") else LIMITS


@pytest.mark.parametrize(
    ("tests", "count"), [(SEPARATE, 16), (TOGETHER, 9)], ids=["separate", "together"]
)
def test_the_tests_have_all_protected_forms_and_a_solution_passes_them(sandbox, tests, count):
    suite = suite_of(tests)
    assert not suite.forgeable
    assert sum(case.program is None for case in suite.cases) == 5
    assert len(suite.cases) == count
    verdict = judge(SOLVED, suite, sandbox=sandbox, limits=Limits(timeout=20), stop_early=False)
    assert verdict.failure is None


def check_forgeries(subtests, paths, suite, sandbox):
    for path in paths:
        with subtests.test(path.stem):
            code, limits = path.read_text(), limits_of(path)
            verdict = judge(code, suite, sandbox=sandbox, limits=limits, stop_early=False)
            assert verdict.passed == 0, verdict


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_forgery_passes_no_test(subtests, sandbox, suite, part):
    check_forgeries(subtests, FORGERIES[part::PARTS], suite, sandbox)


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
def test_a_forgery_passes_in_no_sandbox_and_a_solution_in_each(subtests, name):
    suite = suite_of([CHECK, RANDOM_CHECK])
    with contextlib.closing(make_backend(name)) as sandbox:
        assert judge(SOLVED, suite, sandbox=sandbox, limits=Limits(timeout=20)).failure is None
        check_forgeries(subtests, some(FORGERIES), suite, sandbox)
