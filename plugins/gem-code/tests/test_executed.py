"""A test passes only if it executes an assertion, after a call of the solution."""

import pytest

from gem_code.conditions import evaluate
from gem_code.judge import Limits, judge
from gem_code.suites import read_suite
from gem_core.errors import DataError

RIGHT = """
def square(number):
    if isinstance(number, str):
        raise TypeError("a text")
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
    "a function that only the main program calls": """
def main():
    assert square(3) == 9
if __name__ == '__main__':
    main()
""",
    "a main program whose condition is reversed": """
if '__main__' == __name__:
    assert square(3) == 9
""",
    "a function that is called after other assertions": """
assert square(0) in (0, None, '')
def run():
    assert square(3) == 9
run()
""",
    "an exception after other assertions": """
assert square(0) in (0, None, '')
if square(3) != 9:
    raise ValueError
""",
    "a match statement": """
def test_a():
    match square(3):
        case 9:
            pass
        case _:
            raise ValueError
""",
    "a branch that fails after another one": """
def test_a():
    r = square(3)
    if r == 9:
        pass
    elif r != 9:
        raise ValueError
""",
    "a loop that fails unless it is left": """
def test_a():
    for n in range(5):
        if square(n) == 9:
            break
    else:
        raise ValueError
""",
    "a return that avoids a failure": """
def test_a():
    try:
        square('a')
    except TypeError:
        return
    raise AssertionError('x')
""",
    "a continue that avoids a failure": """
def test_a():
    for bad in ('a', 'b'):
        try:
            square(bad)
        except TypeError:
            continue
        assert False
""",
    "an assertion in a comprehension": """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        [self.assertEqual(square(n), n * n) for n in range(1, 4)]
""",
    "an assertion in a lambda function": """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        go = lambda n: self.assertEqual(square(n), n * n)
        for n in range(1, 4): go(n)
""",
    "an assertion in a conditional expression": """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertTrue(square(3) == 9) if square(2) == 4 else self.fail('x')
""",
    "a function that is given to pytest.raises": """
import pytest
def test_a():
    pytest.raises(TypeError, square, 'a')
""",
    "setup_method": """
class TestA:
    def setup_method(self):
        self.n = 3
    def test_a(self):
        assert square(self.n) == 9
""",
    "setup_class": """
class TestA:
    @classmethod
    def setup_class(cls):
        cls.n = 3
    def test_a(self):
        assert square(self.n) == 9
""",
    "two decorators that parametrize": """
import pytest
@pytest.mark.parametrize('a', [2, 3])
@pytest.mark.parametrize('b', [4, 9])
def test_a(a, b):
    assert square(a) * b == a * a * b
""",
    "pytest.param": """
import pytest
@pytest.mark.parametrize('a,b', [pytest.param(2, 4, id='x'), (3, 9)])
def test_a(a, b):
    assert square(a) == b
""",
    "an import from the future after a text": """
'''doc'''
from __future__ import annotations
async def test_a():
    assert square(3) == 9
""",
}
NOT_RUN = {
    "a test that needs a fixture": (
        "def test_square(number):\n    assert square(number) == 9\n\nassert square(2) == 4"
    ),
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
    "an assertion of nothing": "assert True",
    "a fixture": "def test_square(tmp_path):\n    assert square(3) == 9",
    "an assertion that is not called": (
        "import unittest\nclass More(unittest.TestCase):\n    def test_square(self):\n"
        "        self.assertRaises(TypeError)\n        square(3)"
    ),
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


@pytest.mark.slow
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
@pytest.mark.slow
def test_a_solution_whose_values_leave_no_assertion_to_execute_fails(passes, tests):
    assert passes("def parts(number):\n    return [number]", tests)
    assert not passes("def parts(number):\n    return []", tests)


def test_an_assertion_before_the_first_call_does_not_count(passes):
    tests = "def test_it():\n    assert callable(square)\n    square(3)"
    assert not passes(RIGHT, tests)


@pytest.mark.slow
def test_what_is_called_must_be_a_function(passes, subtests):
    for name, tests in {
        "a block that must raise": (
            "import pytest\ndef test_it():\n    with pytest.raises(TypeError):\n        square('a')"
        ),
        "a function that must raise": "import pytest\npytest.raises(TypeError, square, 'a')",
        "check": (
            "import pytest\ndef check(one):\n    with pytest.raises(TypeError):\n"
            "        one('a')\ncheck(square)"
        ),
        "an asynchronous test": (
            "import pytest\nasync def test_it():\n    with pytest.raises(TypeError):\n"
            "        await square('a')"
        ),
    }.items():
        with subtests.test(name):
            assert passes(RIGHT, tests)
            assert not passes("square = 0", tests)
            assert not passes("", tests)
    assert passes("LIMIT = 3", "for _ in range(1):\n    assert LIMIT == 3")


@pytest.mark.slow
def test_what_a_reference_raises_is_no_assertion(passes):
    tests = """
def reference(number):
    if number < 0:
        raise ValueError
    return [number]

def test_it():
    found = parts(3)
    reference(3)
    for one in found:
        assert one == 3
"""
    assert passes("def parts(number):\n    return [number]", tests)
    assert not passes("def parts(number):\n    return []", tests)


def test_check_is_a_test_beside_assertions():
    tests = "assert square(0) == 0\ndef check(candidate):\n    assert candidate(3) == 9"
    suite = read_suite(tests, "square")
    assert len(suite.cases) == 2


@pytest.mark.slow
def test_huge_tests_are_read_in_a_short_time(subtests):
    classes = "class C0: pass\nclass D0: pass\n" + "".join(
        f"class {name}{n}(C{n - 1}, D{n - 1}): pass\n" for n in range(1, 25) for name in "CD"
    )
    for name, tests in {
        "classes with many ways to the same base": f"{classes}assert square(3) == 9",
        "functions that call each other": "".join(
            f"def f{n}():\n    f{n + 1}()\n" for n in range(100)
        )
        + "def f100():\n    assert square(3) == 9\nf0()",
    }.items():
        with subtests.test(name):
            assert len(read_suite(tests).cases) == 1
    for name, tests in {
        "many cases": "@pytest.mark.parametrize('n', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])\n" * 9
        + "def test_it(n):\n    assert square(n)",
        "a deep expression": f"assert square({'-' * 5000}1)",
    }.items():
        with subtests.test(name), pytest.raises(DataError):
            read_suite(tests)


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
