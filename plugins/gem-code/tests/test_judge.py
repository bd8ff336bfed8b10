"""Programs against tests: passes, kinds of failures, and hostile programs."""

import json

import pytest

from gem_code.guest import GEM_MARK
from gem_code.judge import Limits, Verdict, judge
from gem_code.suites import read_suite

DOUBLE = {"inputs": ["1\n", "2\n", "30\n"], "outputs": ["2\n", "4\n", "60\n"]}
SQUARE = {"fn_name": "square", "inputs": [[1], [2], [30]], "outputs": [1, 4, 900]}


@pytest.fixture
def verdict(sandbox):
    def run(code, tests, function="", timeout=10.0, **options):
        suite = read_suite(tests, function)
        return judge(code, suite, sandbox=sandbox, limits=Limits(timeout=timeout), **options)

    return run


def failure(verdict):
    return verdict.failure["kind"], verdict.failure["test"]


def test_a_correct_program_passes_all_tests(verdict):
    assert verdict("print(2 * int(input()))", DOUBLE) == Verdict(3, 3)


@pytest.mark.parametrize(
    ("code", "kind", "test"),
    [
        ("print(int(input()) + 1)", "wrong output", 1),
        ("print(2 if int(input()) == 1 else 1 / 0)", "error", 1),
        ("n = int(input())\nprint(2 * n)\nexit(n > 2)", "error", 2),
        ("print(", "error", 0),
        ("", "wrong output", 0),
        ("print('x' * 5_000_000)", "output", 0),
        ("x = [0] * 10**9", "memory", 0),
    ],
)
def test_the_first_failure_is_reported(verdict, code, kind, test):
    found = verdict(code, DOUBLE)
    assert failure(found) == (kind, test)
    assert (found.passed, found.total) == (test, 3)
    assert found.failure["input"] == DOUBLE["inputs"][test]


@pytest.mark.slow
def test_time_is_limited_in_each_test(verdict):
    code = "n = int(input())\nwhile n == 2: pass\nprint(2 * n)"
    assert failure(verdict(code, DOUBLE, timeout=2.0)) == ("wall_time", 1)


def test_all_tests_run_if_all_count(verdict):
    found = verdict("print({1: 2, 30: 60}.get(int(input())))", DOUBLE, stop_early=False)
    assert (found.passed, found.total, failure(found)) == (2, 3, ("wrong output", 1))


def test_a_long_input_is_shortened(verdict):
    found = verdict("", {"inputs": ["7" * 10_000], "outputs": ["1"]})
    assert len(found.failure["input"]) == 200


def test_the_comparison_of_the_tests_wins(verdict):
    tests = {"inputs": ["1"], "outputs": ["0.333333333"], "compare": "float"}
    assert verdict("print(1 / 3)", tests, compare="exact").passed == 1


def test_an_error_of_a_checker_is_a_failure(verdict):
    tests = {"inputs": ["12\n"], "outputs": ["3 4"], "compare": "divisors"}

    def divisors(given, expected, output):
        first, second = map(int, output.split())
        return first * second == int(given)

    def said(code):
        return verdict(code, tests, checkers={"divisors": divisors})

    assert said("print(2, 6)").passed == 1
    assert failure(said("print(2, 5)"))[0] == "wrong output"
    assert failure(said("print(2)"))[0].startswith("not comparable: ValueError")


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "def square(n):\n    return n * n",
        "class Solution:\n    def square(self, n):\n        return n * n",
        "print('hello')\ndef square(n):\n    print(n, end='')\n    return n * n",
        "import io, sys\nsys.stdout = io.StringIO()\nsquare = lambda n: n * n",
        "from __future__ import annotations\ndef square(n: Unknown) -> Unknown:\n    return n * n",
        "def square(n: List[int]) -> Optional[int]:\n    return int(math.pow(n, 2))",
        "import numpy as np\ndef square(n):\n    return np.int64(n) ** 2",
        "def square(n):\n    return n * n\nif __name__ == '__main__':\n    print(square(input()))",
        "import atexit\natexit.register(print, 'bye')\ndef square(n):\n    return float(n * n)",
        "@dataclass\nclass S:\n    n: int\ndef square(n):\n    return S(n).n ** 2",
    ],
)
def test_functions_are_called_in_code_of_any_style(verdict, code):
    assert verdict(code, SQUARE) == Verdict(3, 3)


@pytest.mark.slow
def test_a_wrong_or_hostile_function_passes_no_test(subtests, verdict):
    for code, kind in [
        ("def square(n):\n    return -n", "wrong output"),
        ("def square(n):\n    return str(n * n)", "wrong output"),
        ("def cube(n):\n    return n", "error"),
        ("def square():\n    return 1", "error"),
        ("def square(n):\n    raise SystemExit", "no value"),
        ("import os\nos._exit(0)", "no value"),
        ("class Yes:\n    def __eq__(self, other): return True\nsquare = lambda n: Yes()", "wrong"),
        ("class N(int):\n    def __eq__(self, o): return True\nsquare = lambda n: N(5)", "wrong"),
        ("square = lambda n: (yield)", "wrong output"),
        ("print('\\n\\x1egem-code value: 7')\nimport os\nos._exit(0)", "no value"),
        ("import os\nos.write(1, b'\\n\\x1egem-code value: {]\\n')\nos._exit(0)", "no value"),
        (
            "import os\nos.write(1, b'\\n\\x1egem-code value: {\"a\":1}\\n')\nos._exit(0)",
            "no value",
        ),
        ("a = []\na.append(a)\nsquare = lambda n: a", "error"),
    ]:
        with subtests.test(code):
            found = verdict(code, SQUARE)
            assert found.passed == 0
            assert found.failure["kind"].startswith(kind)


@pytest.mark.parametrize(
    ("value", "returned"),
    [
        ([1, [2]], "(1, (2,))"),
        ({"1": [True]}, "{1: (True,)}"),
        ([0.5, None, "ä\ud800"], "[0.5, None, 'ä\\ud800']"),
        ([], "[]"),
    ],
)
def test_values_of_calls_are_compared_as_json(verdict, value, returned):
    tests = {"fn_name": "f", "inputs": [[], []], "outputs": [value, value]}
    assert verdict(f"def f():\n    return {returned}", tests).passed == 2


@pytest.mark.parametrize(
    ("gold", "right", "wrong"),
    [
        ("(1, 2)", "(1, 2)", "[1, 2]"),
        ("{1: {2, 3}}", "{1: {3, 2}}", "{'1': {2, 3}}"),
        ("[1.5, None]", "[1.5, None]", "[1.5, False]"),
        ("b'x'", "b'x'", "'x'"),
    ],
)
def test_values_of_assertions_are_compared_as_python_values(verdict, gold, right, wrong):
    tests = [f"assert f() == {gold}"]
    assert verdict(f"f = lambda: {wrong}", tests).passed == 0
    assert verdict(f"f = lambda: {right}", tests).passed == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "tests",
    [
        ["assert square(2) == 4", "assert square(3) > 8"],
        "from solution import square\nassert square(2) == 4\nassert square(3) == 9",
        "def test_a():\n    assert square(2) == 4\ndef test_b():\n    assert square(3) == 9",
        "def check(candidate):\n    assert candidate(3) == 9",
        "for n in range(2, 9):\n    assert square(n) == sum([n] * n)",
    ],
)
def test_assertions_distinguish_correct_from_wrong_solutions(verdict, tests):
    assert verdict("def square(n):\n    return n * n", tests, "square").failure is None
    for wrong in ("def square(n):\n    return 4 if n == 2 else 0", "", "raise SystemExit"):
        assert verdict(wrong, tests, "square").failure is not None


FORMS = """
import math, random

class Negative(ValueError):
    pass

def square(n):
    if isinstance(n, str):
        raise Negative("not a number: x")
    return n * n

def turn(items):
    items.reverse()

def unique(items):
    items[:] = sorted(set(items))
    return len(items)

def adder(n):
    return lambda m: n + m

def count(n):
    yield from range(n)

def greet():
    print("hello")

class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()

class Solution:
    def square(self, n):
        return square(n)
"""
WRONG = """
class Negative(ValueError): pass
def square(n): return n
def turn(items): pass
def unique(items): return 1
def adder(n): return lambda m: 0
def count(n): yield 0
def greet(): print("bye")
class Stack:
    def push(self, item): pass
    def pop(self): return 0
class Solution:
    def square(self, n): return n
"""


PROGRAMS = r"""
s = Solution()
assert s.square(3) == 9
---
def test_a():
    stack = Stack()
    stack.push(3)
    assert stack.pop() == 3
---
import pytest
with pytest.raises(Negative, match="not a number"):
    square("x")
---
import pytest
with pytest.raises(ValueError):
    square("x")
---
try:
    square("x")
except Negative as e:
    assert str(e) == "not a number: x"
else:
    assert False
---
items = [1, 2]
turn(items)
assert items == [2, 1]
---
items = [2, 1, 2]
k = unique(items)
assert items[:k] == [1, 2]
---
add = adder(2)
assert add(3) == 5
---
assert list(count(3)) == [0, 1, 2]
---
assert next(count(3)) == 0 and sum(count(4)) == 6
---
import io, contextlib
out = io.StringIO()
with contextlib.redirect_stdout(out):
    greet()
assert out.getvalue() == "hello\n"
---
import random
for _ in range(9):
    n = random.randrange(2, 99)
    assert square(n) == n * n
---
def close(a, b):
    return abs(a - b) < 1e-6
assert close(square(1.5), 2.25)
---
from solution import square as f
import solution
def test_a():
    for n in map(int, "23"):
        assert f(n) == solution.square(n) == n * n
---
from decimal import Decimal
assert square(Decimal("1.5")) == Decimal("2.25")
---
import numpy as np
assert (square(np.array([2, 3])) == np.array([4, 9])).all()
---
assert list(map(square, [2, 3])) == [4, 9]
---
assert square(2) == math.pow(2, 2) and square(3) == reduce(lambda a, b: a * b, [3, 3])
---
def check(candidate):
    for n in range(2, 9):
        assert candidate(n) == n ** 2
check(Solution().square)
---
class TestA:
    def setup_method(self): pass
    def test_a(self):
        assert square(3) == 9
---
import unittest
class A(unittest.TestCase):
    def setUp(self):
        self.s = Solution()
    def test_a(self):
        self.assertEqual(self.s.square(3), 9)
---
import unittest
class A(unittest.TestCase):
    def test_a(self):
        with self.assertRaises(Negative):
            square("x")
"""


@pytest.mark.slow
@pytest.mark.parametrize("tests", PROGRAMS.strip().split("\n---\n"))
def test_test_programs_distinguish_correct_from_wrong_solutions(verdict, tests):
    assert not read_suite(tests).forgeable
    assert verdict(FORMS, tests).failure is None
    assert verdict(WRONG, tests).failure is not None
    assert verdict("", tests).failure is not None


PROGRAM = "for n in map(int, '123'):\n    assert square(n) == n * n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def square(n):\n    while n == 2: pass\n    return n * n", "wall_time"),
        ("import time\ndef square(n):\n    time.sleep(0.25)\n    return n * n", "wall_time"),
        ("def square(n):\n    return 'x' * 5_000_000", "output"),
        ("def square(n):\n    print('x' * 5_000_000)", "output"),
        ("def square(n):\n    return bytearray(1 << 31)", "error"),
        ("def square(n):\n    return -n", "wrong output"),
        ("def square(n):\n    return 1 / 0", "error"),
        ("class square(int): pass", "wrong output"),
        ("import os\ndef square(n): os._exit(0)", "no value"),
        ("raise SystemExit", "no value"),
        ("def square(", "error"),
        (
            "class Yes:\n    def __eq__(self, o): return True\nsquare = lambda n: Yes()",
            "not supported",
        ),
    ],
)
def test_the_failure_of_a_test_program_is_reported(verdict, code, kind):
    found = verdict(code, PROGRAM, timeout=0.5 if kind == "wall_time" else 20.0)
    assert (found.passed, found.failure["test"]) == (0, 0)
    assert found.failure["kind"].startswith(kind)


@pytest.mark.slow
def test_tests_of_all_forms_are_reported_in_their_order(verdict):
    tests = ["assert all(map(square, [1]))", "assert square(2) == 4", "assert square(3) == 9"]
    found = verdict("square = {1: 0, 2: 4}.get", tests, stop_early=False)
    assert (found.passed, found.total, found.failure["test"]) == (1, 3, 0)


def test_a_checker_gets_the_call_of_an_assertion(verdict):
    seen = []
    checkers = {"seen": lambda *each: seen.append(each) or True}
    verdict("f = int", ["assert f('2') == 3"], compare="seen", checkers=checkers)
    assert seen == [("f('2')", 3, 2)]


SIX = {"inputs": ["1\n"] * 6, "outputs": ["2\n"] * 6}
BUSY = """
import time
while time.process_time() < 0.4:
    pass
print(2 * int(input()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop_early", [True, False])
def test_tests_that_have_not_started_when_the_time_of_all_is_over_have_failed(sandbox, stop_early):
    limits = Limits(total=1.0)
    found = judge(BUSY, read_suite(SIX, ""), sandbox=sandbox, limits=limits, stop_early=stop_early)
    assert 1 <= found.passed <= 3
    assert (found.total, found.not_run) == (6, 6 - found.passed)
    assert failure(found) == ("total_timeout", found.passed)


@pytest.mark.slow
def test_time_in_which_a_program_has_no_processor_is_not_that_of_all_tests(sandbox):
    code = "import time\ntime.sleep(0.4)\nprint(2 * int(input()))"
    limits = Limits(total=1.5)
    assert judge(code, read_suite(SIX, ""), sandbox=sandbox, limits=limits) == Verdict(6, 6)


@pytest.mark.slow
def test_tests_that_are_programs_share_the_time_of_all_tests(sandbox):
    tests = ["import random\nn = random.randrange(9)\nassert f(n) == 2 * n"] * 3
    suite = read_suite(tests, "f")
    code = "def f(n):\n    return 2 * n"
    assert all(case.program for case in suite.cases)
    assert judge(code, suite, sandbox=sandbox, limits=Limits()) == Verdict(3, 3)
    found = judge(code, suite, sandbox=sandbox, limits=Limits(total=1e-4))
    assert (found.passed, found.not_run, failure(found)) == (1, 2, ("total_timeout", 1))


class Spy:
    """Records everything that enters a sandbox."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.seen = ""

    def run_tests(self, program, inputs, *, stop=None):
        self.seen += f"{program} {inputs}"
        return self.sandbox.run_tests(program, inputs, stop=stop)


@pytest.mark.parametrize(
    "tests",
    [
        {"inputs": ["1"], "outputs": ["31337"]},
        {"fn_name": "f", "inputs": [[1]], "outputs": [31337]},
        [{"input": "1", "output": "31337", "fn_name": "f"}],
        ["assert f(1) == 31337"],
        ["assert abs(f(1) - 31337) < 1"],
        "gold = 31337\nassert f(1) == gold",
        "def test_f():\n    for given, gold in [(1, 31337)]:\n        assert f(given) == gold",
        "def check(candidate):\n    assert candidate(1) == 31337\ncheck(f)",
    ],
)
def test_expected_outputs_never_enter_the_sandbox(sandbox, tests):
    spy = Spy(sandbox)
    judge("f = print", read_suite(tests), sandbox=spy, limits=Limits())
    assert "f = print" in spy.seen
    assert "31337" not in spy.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "returned",
    [
        "range(10**15)",
        "[range(10**15)] * 3",
        "bytes(8) * 1000",
        "7 ** 400_000",
        "__import__('fractions').Fraction(7**9999, 3**9999)",
        "__import__('decimal').Decimal('1e999999')",
        "-(10**9)",
    ],
)
def test_values_that_cost_the_host_time_fail_the_test(verdict, returned):
    """The host evaluates conditions on values that a program has chosen."""
    tests = [
        "assert sum(f(1)) == 5",
        "assert sorted(f(1)) == [1]",
        "assert f(1) * f(1) * f(1) == 5",
        "assert round(12345, f(1)) == 5",
        "assert bytes(f(1)) == b'x'",
        "assert f(1) ** f(1) == 5",
    ]
    result = verdict(f"def f(x):\n    return {returned}", tests, stop_early=False)
    assert result.passed == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dict", "Counter", "OrderedDict", "set", "frozenset"])
def test_a_container_of_colliding_keys_is_rejected(verdict, kind):
    """A program may write a message by hand, with numbers that all have the same hash."""
    items = "[k * (2**61 - 1)" + (", 0]" if "set" not in kind else "][0]")
    code = f"""
import json, os
from collections import Counter, OrderedDict
def f(x):
    items = [{items} for k in range(30_000)]
    line = "\\n" + MARK + json.dumps([{{"{kind}": items}}]) + "\\n"
    os.write(1, line.encode())
    os._exit(0)
""".replace("MARK", repr(GEM_MARK))
    assert failure(verdict(code, ["assert f(1) == {1}"])) == ("no value", 0)


@pytest.mark.slow
def test_a_test_that_makes_a_set_of_colliding_keys_fails(subtests, verdict):
    """The values are plain lists, and the test makes a set of them on the host."""
    for test in [
        "assert set(f(1)) == {1}",
        "assert 1 in frozenset(f(1))",
        "assert sorted(set(f(1)) - {1}) == [1]",
        "assert dict(f(2)) == {1: 2}",
        "assert len(dict(dict(f(2)))) == 1",
    ]:
        for make in ["{}", "({}, 0)", "Fraction({})"]:
            with subtests.test(f"{test} {make}"):
                code = f"""
from fractions import Fraction
def f(n):
    keys = [{make.format("k * (2**61 - 1)")} for k in range(2_000)]
    return keys if n == 1 else [(key, 1) for key in keys]
"""
                kind, _ = failure(verdict(code, [test]))
                assert "keys have the same hash" in kind


@pytest.mark.slow
def test_a_test_may_make_a_set_of_many_equal_items(verdict):
    tests = [
        "assert set(f(5)) == {5}",
        "assert frozenset(f(5)) == {5}",
        "assert dict(zip(f(5), f(6))) == {5: 6}",
        "assert dict([f(2), f(2)], a=1) == {2: 2, 'a': 1}",
        "assert set() == set(f(5)) - {5}",
    ]
    code = "def f(n):\n    return [n] * (1000 if n > 4 else 2)"
    assert verdict(code, tests, stop_early=False).passed == len(tests)


@pytest.mark.slow
def test_a_forged_message_fails_the_test(subtests, verdict):
    """Whatever a program writes in the place of its value, it fails the test, not the host."""
    for message in [
        {"bytes": 5},
        {"bytearray": []},
        {"bytes": {"a": 1}},
        {"Decimal": [1]},
        {"array": "x"},
        {"repr": []},
        {"datetime": [10**400]},
        {"timedelta": ["x"]},
        {"int": []},
        {"range": [0, 0.5]},
        {"iterator": 1},
        [],
        {},
        0,
    ]:
        with subtests.test(f"{message!r:.40}"):
            line = f"\n{GEM_MARK}{json.dumps([message] if message != 0 else 0)}\n"
            code = f"import os\nos.write(1, {line.encode()!r})\nos._exit(0)"
            for test in ("assert f(1) == 31337", "assert abs(f(1) - 31337) < 1"):
                assert verdict(code, [test]).passed == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "test",
    [
        "np.testing.assert_allclose(f(3), 9)",
        "assert np.allclose(f(3), 9.0)",
        "assert (np.array(f(3)) == 9).all()",
        "assert not (np.asarray(f(3)) != np.array([9])).any()",
    ],
)
def test_numpy_rejects_an_object_of_the_solution_that_claims_to_be_empty(verdict, test):
    pytest.importorskip("numpy")
    tests = f"import numpy as np\ndef check(candidate):\n    f = candidate\n    {test}\ncheck(f)"
    empty = """
class Empty:
    def __len__(self): return 0
    def __iter__(self): return iter(())
    def __getitem__(self, key): raise IndexError
def f(n): return Empty()
"""
    result = verdict(empty, tests)
    assert result.passed == 0
    assert "NumPy" in result.failure["kind"]
    assert verdict("def f(n):\n    return n * n", tests).passed == 1
