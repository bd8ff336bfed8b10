"""Tests are unrolled into calls and conditions, run as programs beside the solution, or flagged."""

import pytest

from gem_code.assertions import read_assertions
from gem_core.errors import DataError

PARAMETRIZED = """
import pytest
@pytest.mark.parametrize("n, w", [(1, 2), (3, 4)])
def test_a(n, w):
    assert f(n) == w
"""
TEST_CASE = """
import unittest
class TestF(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(1), 2)
        self.assertTrue(f(2))
        self.assertAlmostEqual(f(3), 1.5, places=3)
        self.assertIsNone(f(4))
        self.assertIn(f(5), (1, 2))
        self.assertAlmostEqual(f(6), 2, delta=1)
if __name__ == "__main__":
    unittest.main()
"""


def form(source, function=""):
    """Return the forms of the tests of a program: unrolled, program or forgeable."""
    return [
        "forgeable" if test.forgeable else "program" if test.program else "unrolled"
        for test in read_assertions([source], function)
    ]


def test_an_assertion_becomes_a_call_and_the_value_that_it_must_have(subtests):
    for source, call, gold in [
        ("assert f(2) == 4", "f(2)", 4),
        ("assert 4 == f(2)", "f(2)", 4),
        ("assert f('a', [1]) == {'a': (1, -2.5)}, 'wrong'", "f('a', [1])", {"a": (1, -2.5)}),
        ("x = [1, 2]\nassert f(x) == 3", "f([1, 2])", 3),
        ("from solution import f as g\nassert g(n=2) == 4", "f(n=2)", 4),
        ("assert Solution().f(2) == 4", "Solution().f(2)", 4),
        ("y = 4\nassert f(2) == y", "f(2)", 4),
    ]:
        with subtests.test(source):
            (found,) = read_assertions([source])
            (condition,) = found.conditions
            assert (found.calls, condition.call, condition.gold) == ((call,), 0, gold)
            assert (found.program, found.forgeable) == (None, False)


def test_assertions_about_values_are_unrolled(subtests):
    for source in [
        "assert f(1)",
        "assert not f(1)",
        "assert f(1) is True",
        "assert f(1) is None",
        "assert f(1) in [1, 2]",
        "assert f(1) == f(2)",
        "assert 1 < f(1)",
        "assert sorted(f(1)) == [1]",
        "assert len(set(f(1))) == 3",
        "assert f(1)[0] == 2",
        "assert isinstance(f(1), list)",
        "assert abs(f(1) - 2) < 0.1",
        "assert round(f(1), 2) == 0.5",
        "import math\nassert math.isclose(f(1), 2, rel_tol=1e-3)",
        "import math as m\nassert m.isclose(f(1), m.pi)",
        "from math import isclose\nassert isclose(f(1), 2)",
        "import pytest\nassert f(1) == pytest.approx(2, abs=1e-3)",
        "from pytest import approx\nassert f(1) == approx([1, 2])",
        "def test_a():\n    got = f(1)\n    want = 2\n    assert got == want",
        "def test_a():\n    for n, want in [(1, 2), (2, 3)]:\n        assert f(n) == want",
        "def test_a():\n    for n in range(3):\n        assert f(n) == n * 2",
        "for n, w in zip([1, 2], [3, 4]):\n    print(n)\n    assert f(n) == w",
        "for i, case in enumerate([[1, 2]]):\n    assert f(case[0]) == case[1], i",
        "def test_a():\n    for n, w in {1: 2}.items():\n        assert f(n) == w",
        PARAMETRIZED,
        TEST_CASE,
        "class TestF:\n    def test_a(self):\n        assert f(1) == 2",
        "def check(candidate):\n    assert candidate(1) == 2\ncheck(f)",
        "for n in [1, 2]:\n    assert f(n) == 3",
    ]:
        with subtests.test(source):
            assert set(form(source)) == {"unrolled"}


def test_only_calls_enter_the_process_of_the_solution():
    source = "import math\nGOLD = [7, 8]\ndef check(candidate):\n    cases = [(1, 7), (2, 8)]\n"
    source += "    for given, gold in cases:\n        assert candidate(given) == gold\n"
    source += "    assert candidate(math.pi) == GOLD[0]\n"
    source += "    for case in [{'in': [3], 'out': 9}]:\n"
    source += "        assert candidate(case['in']) == case['out']\n"
    (found,) = read_assertions([source], "Solution().f")
    calls = ("Solution().f(1)", "Solution().f(2)", "Solution().f(math.pi)", "Solution().f([3])")
    assert (found.setup, found.calls) == ("import math", calls)


@pytest.mark.slow
def test_tests_that_must_be_run_are_run_in_another_process(subtests):
    for source in [
        "import random\ndef test_a():\n    n = random.random()\n    assert f(n) == n",
        "def close(a, b):\n    return abs(a - b) < 1\nassert close(f(1), 2)",
        "assert f(2) == math.sqrt(2)",
        "assert f(1) and f(2)",
        "assert f(f(1)) == 2",
        "assert f(1).strip() == 'x'",
        "assert all(f(n) == n for n in [1, 2])",
        "items = [2, 1]\nk = f(items)\nassert items[:k] == [1]",
        "case = {'in': 1, 'out': 2}\nassert f(case.get('in')) == case['out']",
        "cases = [(1, 2)]\nassert f([c[0] for c in cases]) == 2",
        "def test_a():\n    x = [2, 1]\n    f(x)\n    assert x == [1, 2]",
        "def test_a():\n    x = [2, 1]\n    assert f(x) == 1\n    assert f(x) == 1",
        "import pytest\ndef test_a():\n    with pytest.raises(ValueError):\n        f(-1)",
        "import pytest\nwith pytest.raises(Negative):\n    f(-1)",
        "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    assert False",
        "s = Stack()\ns.push(1)\nassert s.pop() == 1",
        "s = Solution()\nassert s.f(1) == 1",
        "add = adder(1)\nassert add(2) == 3",
        "if True:\n    assert f(1) == 2",
        "while True:\n    assert f(1) == 2\n    break",
    ]:
        with subtests.test(source):
            (found,) = read_assertions([source])
            assert found.program is not None
            assert not found.forgeable


@pytest.mark.slow
def test_tests_that_need_the_process_of_the_solution_are_forgeable(subtests):
    for source in [
        "assert Point(1, 2) == Point(1, 2)",
        "assert close(f(1), 2)",
        "assert not far(f(1), 2)",
        "assert len(Stack()) == 0",
        "s = Stack()\nassert str(s) == 'Stack()'",
        "assert isinstance(f(1), Node)",
        "assert depth(TreeNode(1)) == 1",
        "class Mine(Base):\n    pass\nassert Mine().run() == 1",
        "class Node:\n    pass\nn = Node()\nassert f(n) == 1",
        "assert f(lambda n: n, [f]) == [1]",
        "def key(n):\n    return -n\nassert f([1], key) == [1]",
        "import solution\nsolution.LIMIT = 3\nassert f(1) == 2",
        "from unittest import mock\nassert f(1) == 2 or f(2)",
        "import inspect\nassert 'for' in inspect.getsource(f)",
        "import sys, io\nsys.stdin = io.StringIO('1')\nassert f() == 1",
        "import asyncio\nassert asyncio.run(f(1)) == 2",
        "assert eval('f(1)') == 2",
        "assert f.__doc__",
        "first = Node(1)\nfirst.next.next = Node(2)\nassert length(None) == 0",
    ]:
        with subtests.test(source):
            assert form(source) == ["forgeable"]


def test_each_test_of_a_program_is_a_test():
    source = "assert f(1) == 2\ndef test_a():\n    assert f(2) == 3\ndef test_b():\n    assert f(3)"
    assert [test.calls for test in read_assertions([source])] == [("f(1)",), ("f(2)",), ("f(3)",)]


def test_a_function_may_have_the_name_of_a_builtin_or_of_one_in_a_library():
    assert form("assert sum([1, 2]) == 3", "sum") == ["unrolled"]
    assert form("assert gcd(4, 2) == 2", "gcd") == ["unrolled"]
    (found,) = read_assertions(["assert gcd(4, 2) == 2"])
    assert found.program.names == ("gcd",)
    (found,) = read_assertions(["assert f(2) == sqrt(2)"])
    assert found.program.names == ("f",)


def test_assertions_that_a_function_of_python_fails_test_another_of_its_name():
    (found,) = read_assertions(["assert sum(10, 15) == 6"])
    assert (found.calls, found.forgeable) == (("sum(10, 15)",), False)
    for others in [
        "assert sum([10, 15]) == 25",
        "assert len(sorted([1])) == 2",
        "assert open('/etc/passwd') == 1",
        "assert sum.__class__(1) == 2",
        "assert 1 == 2",
        "x = len([1])\nassert x == 2",
    ]:
        with pytest.raises(DataError, match="no assertion of the tests is run and uses"):
            read_assertions([others])
