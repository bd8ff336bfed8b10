"""A test passes only if it executes an assertion, after a call of the solution."""

import pytest

from gem_code.conditions import evaluate
from gem_code.judge import Limits, judge
from gem_code.suites import read_suite
from gem_core.errors import DataError

RIGHT = """
def square(number):
    return number * number

def Total(numbers):
    return sum(numbers)
"""
CONSTANT = """
def square(number):
    return 0

def Total(numbers):
    return 0
"""
RUN = {
    "an assertion of the main program": """
if __name__ == "__main__":
    assert square(3) == sum([3] * 3)
""",
    "a function that the main program calls": """
def run():
    for number in (3, 4):
        assert square(number) == number ** 2

if __name__ == "__main__":
    run()
    assert square(2) == 4
""",
    "a function that is called": """
def run():
    assert square(3) == 9

run()
""",
    "a test case derived from another": """
import unittest

class Base(unittest.TestCase):
    def setUp(self):
        self.number = 3

class More(Base):
    def test_square(self):
        self.assertEqual(square(self.number), 9)
""",
    "a method of a mixin": """
import unittest

class Mixin:
    def test_square(self):
        self.assertEqual(square(3), 9)

class More(Mixin, unittest.TestCase):
    pass
""",
    "runTest": """
import unittest

class More(unittest.TestCase):
    def runTest(self):
        self.assertEqual(square(3), 9)
""",
    "an asynchronous function": """
async def test_square():
    assert square(3) == 9
""",
    "an asynchronous test case": """
import unittest

class More(unittest.IsolatedAsyncioTestCase):
    async def test_square(self):
        self.assertEqual(square(3), 9)
""",
    "an exception that a test raises": """
def test_square():
    if square(3) != 9:
        raise ValueError("wrong")
""",
    "an exception that a test expects": """
def test_square():
    try:
        square("text")
        assert False
    except TypeError:
        pass
""",
    "an assertion of NumPy": """
import numpy
numpy.testing.assert_allclose(square(3), 9)
""",
    "a loop over results": """
def test_square():
    for number, result in zip([3, 4], [square(3), square(4)]):
        assert result == number ** 2
""",
}
NOT_RUN = {
    "a function": "def run():\n    assert square(3) == 9",
    "a method of a class": "class Checks:\n    def run(self):\n        assert square(3) == 9",
    "a mixin": (
        "import unittest\nclass Mixin:\n    def test_square(self):\n"
        "        self.assertEqual(square(3), 9)"
    ),
    "check without a function": "def check(candidate):\n    assert candidate(3) == 9",
    "an asynchronous method that unittest does not await": (
        "import unittest\nclass More(unittest.TestCase):\n    async def test_square(self):\n"
        "        self.assertEqual(square(3), 9)"
    ),
    "a call without an assertion": "def test_square():\n    square(3)",
    "an assertion without the solution": "assert sum([1, 2]) == 3",
    "a function that another one calls that is not called": (
        "def one():\n    assert square(3) == 9\n\ndef two():\n    one()"
    ),
}


@pytest.fixture
def passes(sandbox):
    def run(code, tests):
        suite = read_suite(tests)
        return judge(code, suite, sandbox=sandbox, limits=Limits(timeout=20)).failure is None

    return run


def test_every_assertion_that_runs_is_a_test_that_a_constant_solution_fails(passes, subtests):
    for name, tests in RUN.items():
        with subtests.test(name):
            assert passes(RIGHT, tests)
            assert not passes(CONSTANT, tests)


def test_tests_whose_assertions_nothing_runs_are_refused(subtests):
    for name, tests in NOT_RUN.items():
        with subtests.test(name), pytest.raises(DataError):
            read_suite(tests)


def test_check_without_the_name_of_the_function_says_what_is_missing():
    with pytest.raises(DataError, match="function_key"):
        read_suite("def check(candidate):\n    assert candidate(3) == 9")


def test_assertions_that_nothing_runs_are_left_out_beside_others():
    suite = read_suite("def helper():\n    assert square(2) == 5\n\nassert square(3) == 9")
    assert len(suite.cases) == 1


@pytest.mark.parametrize(
    "tests",
    [
        "def test_it():\n    for one in parts(3):\n        assert one == 3",
        "def test_it():\n    if parts(3):\n        assert parts(3) == [3]",
    ],
)
def test_a_solution_whose_values_leave_no_assertion_to_execute_fails(passes, tests):
    assert passes("def parts(number):\n    return [number]", tests)
    assert not passes("def parts(number):\n    return []", tests)


def test_an_assertion_before_the_first_call_does_not_count(passes):
    tests = "def test_it():\n    assert callable(square)\n    square(3)"
    assert not passes(RIGHT, tests)


def test_a_function_with_a_capital_letter_is_not_forgeable(passes):
    tests = "def test_it():\n    for _ in range(2):\n        assert Total([1, 2]) == 3"
    assert not read_suite(tests).forgeable
    assert passes(RIGHT, f"import random\nx = random.random()\n{tests}")
    assert not passes(CONSTANT, tests)
    assert read_suite("assert Point(1) == Point(1)").forgeable


def test_a_sum_of_huge_fractions_is_not_calculated():
    import ast
    from fractions import Fraction

    tree = ast.parse("sum(items)", mode="eval").body
    tree.args[0].id = "value 0"
    small = [Fraction(1, number) for number in range(1, 100)]
    assert evaluate(tree, [small]) == sum(small)
    huge = [Fraction(1, 10**300 + number) for number in range(3000)]
    with pytest.raises(ValueError, match="too large"):
        evaluate(tree, [huge])
