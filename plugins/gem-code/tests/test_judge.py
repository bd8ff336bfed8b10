"""Programs against tests: passes, kinds of failures, and hostile programs."""

import pytest

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


def test_time_is_limited_in_each_test(verdict):
    code = "n = int(input())\nwhile n == 2: pass\nprint(2 * n)"
    assert failure(verdict(code, DOUBLE, timeout=0.3)) == ("wall_time", 1)


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


@pytest.mark.parametrize(
    ("code", "kind"),
    [
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
    ],
)
def test_a_wrong_or_hostile_function_passes_no_test(verdict, code, kind):
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
        ("b'x'", None, "'x'"),
    ],
)
def test_values_of_assertions_are_compared_as_python_values(verdict, gold, right, wrong):
    tests = [f"assert f() == {gold}"]
    assert verdict(f"f = lambda: {wrong}", tests).passed == 0
    if right is not None:
        assert verdict(f"f = lambda: {right}", tests).passed == 1


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
    ],
)
def test_expected_outputs_never_enter_the_sandbox(sandbox, tests):
    spy = Spy(sandbox)
    judge("f = print", read_suite(tests), sandbox=spy, limits=Limits())
    assert "f = print" in spy.seen
    assert "31337" not in spy.seen
