"""No program is paid without solving the problem, in any form of tests that is not forgeable."""

from dataclasses import replace
from pathlib import Path

import pytest
from forgery_backends import BACKENDS, make_backend

from gem_code.judge import Limits, judge
from gem_code.suites import read_suite

FORGERIES = sorted((Path(__file__).parent / "forgeries").glob("*.py"))
TESTS = """
import math, random, unittest

def helper(value, expected):
    return value == expected

def test_values():
    assert square(3) == 9
    for number, expected in [(4, 16), (5, 25)]:
        assert square(number) == expected

def test_conditions():
    assert square(3) > 8
    assert abs(square(4) - 16) < 1e-6
    assert math.isclose(square(5), 25)
    assert square(6) in (35, 36)

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

class TestSquare(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(square(3), 9)

    def setUp(self):
        self.squarer = Squarer()

    def test_an_object(self):
        self.squarer.add(1)
        self.assertEqual(self.squarer.square(2), 9)
"""
CHECKS = {
    "unrolled": "def check(candidate):\n    assert candidate(3) == 9\n"
    "    assert candidate(4) == 16",
    "run": "import random\ndef check(candidate):\n    number = random.randrange(10, 99)\n"
    "    assert candidate(number) == number ** 2",
    "literals": ["assert square(3) == 9", "assert square(4) == 16"],
    "no_literals": [
        "assert square(3) == sum([3] * 3)",
        "assert square(-3) > 8",
        "assert square(4) < 17",
    ],
}
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
LIMITS = Limits(timeout=1.0, memory=1 << 28)
BRIEF = replace(LIMITS, timeout=0.2)
"""Enough for programs that are only ever ended by their time limit."""


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    sandbox = make_backend(request.param)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def suite():
    return read_suite(TESTS)


def limits_of(path):
    return BRIEF if path.stem.startswith("never_") else LIMITS


def solves(code, tests, sandbox, limits):
    suite = read_suite(tests, "square")
    return judge(code, suite, sandbox=sandbox, limits=limits).failure is None


def test_the_tests_have_all_protected_forms(suite):
    assert not suite.forgeable
    programs = [case.program is not None for case in suite.cases]
    assert any(programs)
    assert not all(programs)


def test_a_solution_passes_all_tests(sandbox, suite):
    verdict = judge(SOLVED, suite, sandbox=sandbox, limits=Limits(timeout=20), stop_early=False)
    assert verdict.failure is None


@pytest.mark.parametrize("path", FORGERIES, ids=lambda path: path.stem)
def test_a_forgery_passes_no_test(sandbox, suite, path):
    code, limits = path.read_text(), limits_of(path)
    verdict = judge(code, suite, sandbox=sandbox, limits=limits, stop_early=False)
    assert verdict.passed == 0, verdict
    assert not any(solves(code, tests, sandbox, limits) for tests in CHECKS.values())


def test_a_solution_passes_in_every_sandbox(backend):
    limits = Limits(timeout=20)
    assert all(solves(SOLVED, tests, backend, limits) for tests in CHECKS.values())


@pytest.mark.thorough
@pytest.mark.parametrize("path", FORGERIES, ids=lambda path: path.stem)
def test_a_forgery_passes_in_no_sandbox(backend, path):
    code, limits = path.read_text(), limits_of(path)
    assert not any(solves(code, CHECKS[form], backend, limits) for form in ("unrolled", "run"))
