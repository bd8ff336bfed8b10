"""The forms of tests that datasets use, and the errors for malformed ones."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_code.suites import Suite, read_suite
from gem_core.errors import DataError


def prints(*pairs):
    return {"inputs": [one for one, _ in pairs], "outputs": [other for _, other in pairs]}


def job(suite, number=0):
    return json.loads(suite.cases[number].stdin)


@pytest.mark.parametrize("as_text", [False, True])
def test_inputs_and_outputs_are_texts_numbers_or_lists_of_lines(as_text):
    tests = prints(("1\n2\n", "3\n"), (["1", 2], ["3"]), (5, 5.5))
    suite = read_suite(json.dumps(tests) if as_text else tests)
    assert not suite.calls
    assert [case.stdin for case in suite.cases] == ["1\n2\n", "1\n2", "5"]
    assert [case.golds for case in suite.cases] == [("3\n",), ("3",), ("5.5",)]


def test_a_named_function_gets_the_inputs_as_arguments():
    suite = read_suite({"fn_name": "f", "inputs": [[1, [2]], [3, [4]]], "outputs": [5, 6]})
    assert suite.calls
    assert job(suite) == {"call": "f", "arguments": [1, [2]]}
    assert [case.golds for case in suite.cases] == [(5,), (6,)]


def test_values_may_be_wrapped_in_lists():
    wrapped = read_suite({"fn_name": "f", "inputs": [[1], [2]], "outputs": [[5], [[6]]]})
    assert [case.golds for case in wrapped.cases] == [(5, [5]), ([6], [[6]])]
    plain = read_suite({"fn_name": "f", "inputs": [[1], [2]], "outputs": [[5], [6, 7]]})
    assert [case.golds for case in plain.cases] == [([5],), ([6, 7],)]


@pytest.mark.parametrize(
    "test",
    [
        {"input": "[1, 2]\n3", "output": "[4, 5]", "metadata": {"func_name": "f"}},
        {"input": "[1, 2]\n\n3\n", "output": "[4, 5]", "fn_name": "f", "type": "function_call"},
        {"input": [[1, 2], 3], "output": [4, 5], "fn_name": "f"},
    ],
)
def test_tests_may_come_one_by_one(test):
    suite = read_suite([test])
    assert job(suite) == {"call": "f", "arguments": [[1, 2], 3]}
    assert suite.cases[0].golds == ([4, 5],)


TEXT_FORMS = [
    (["[1, 2, 3]\n2"], ["5"], [[[1, 2, 3], 2]], [5]),
    (["1"], ["true"], [[1]], [True]),
    (['"abc"\n3\n'], ['"abcabcabc"'], [["abc", 3]], ["abcabcabc"]),
    (["1", "2"], ["[5]", "[6]"], [[1], [2]], [[5], [6]]),
    (["[1]\r\n{}"], ["null"], [[[1], {}]], [None]),
    (["12", "ab"], ["21", "ba"], [["12"], ["ab"]], ["21", "ba"]),
    (["ab"], ["2"], [["ab"]], ["2"]),
    (["1\n2", "3"], [3, None], [[1, 2], [3]], [3, None]),
    (["ab", ""], [2, 0], [["ab"], [""]], [2, 0]),
    (["1", "2"], ["5", "five"], [[1], [2]], ["5", "five"]),
    ([["12"]], ["21"], [["12"]], ["21"]),
    ([["12\n3"], ["4"]], ["21", "5"], [["12\n3"], ["4"]], ["21", "5"]),
]


@pytest.mark.parametrize(("inputs", "outputs", "arguments", "golds"), TEXT_FORMS)
def test_calls_as_texts_are_read_like_calls_as_values(inputs, outputs, arguments, golds):
    one_by_one = zip(inputs, outputs, strict=True)
    for tests in (
        {"inputs": inputs, "outputs": outputs, "fn_name": "f"},
        [{"input": one, "output": other, "fn_name": "f"} for one, other in one_by_one],
    ):
        suite = read_suite(tests)
        assert [case.input for case in suite.cases] == arguments
        assert [case.golds for case in suite.cases] == [(gold,) for gold in golds]


def test_lines_that_could_be_arguments_or_texts_are_an_error():
    for text in ("[1, 2]\nabc", "a b\nc d"):
        with pytest.raises(DataError, match=r"test 1: not every line of the input .* is JSON"):
            read_suite({"inputs": ["1\n2", text], "outputs": ["1", "2"], "fn_name": "f"})
    with pytest.raises(DataError, match=r"test 0: the input '\[\]' is JSON and the output is not"):
        read_suite({"inputs": ["[]", "{}"], "outputs": [True, False], "fn_name": "f"})


def test_tests_one_by_one_without_a_function_are_read_and_printed():
    suite = read_suite([{"input": "1", "output": "2", "testtype": "stdin"}])
    assert (suite.calls, suite.cases[0].stdin, suite.cases[0].golds) == (False, "1", ("2",))


def test_the_row_may_name_the_function():
    assert job(read_suite(prints(([1], 2)), "g")) == {"call": "g", "arguments": [1]}
    assert job(read_suite([{"input": "1", "output": "2"}], "g"))["call"] == "g"


def test_arguments_may_have_names():
    suite = read_suite({"fn_name": "f", "inputs": [{"x": 1}], "outputs": [2]})
    assert job(suite)["arguments"] == {"x": 1}


def test_a_suite_may_name_its_comparison():
    assert read_suite({**prints(("1", "2")), "compare": "float:1e-3"}).compare == "float:1e-3"
    assert read_suite(prints(("1", "2"))).compare is None


def test_malformed_tests_are_rejected(subtests):
    for tests, message in [
        ({}, "inputs"),
        ("{}", "inputs"),
        ([], "no tests"),
        ("[]", "no tests"),
        ("", "no tests"),
        ("# nothing", "no tests"),
        ({"inputs": [], "outputs": []}, "no tests"),
        ({"inputs": ["1"], "outputs": []}, "1 inputs and 0 outputs"),
        ({"inputs": "1", "outputs": ["1"]}, "inputs"),
        ({"inputs": ["1"], "outputs": [None]}, "NoneType"),
        ({"inputs": [{"x": 1}], "outputs": ["1"]}, "dict"),
        ('{"inputs": ["1"', "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ("17", "17"),
        ([1, 2], "test 0"),
        ([{"input": "1"}], "test 0"),
        (
            [
                {"input": "1", "output": "1", "fn_name": "f"},
                {"input": "1", "output": "1", "fn_name": "g"},
            ],
            "several functions",
        ),
        (["assert f(1) =="], "not valid Python"),
        ("def f(:", "not valid Python"),
    ]:
        with subtests.test(f"{tests!r:.60}"), pytest.raises(DataError, match=message):
            read_suite(tests)


@pytest.mark.slow
@given(st.lists(st.text(max_size=6), min_size=1, max_size=20), st.integers(1, 25))
@settings(max_examples=100 if thorough() else 40)
def test_the_longest_inputs_are_kept_in_their_order(inputs, count):
    suite = read_suite(prints(*[(text, "") for text in inputs]))
    kept = suite.longest(count).cases
    numbers = [case.number for case in kept]
    left = [case for case in suite.cases if case.number not in numbers]
    assert len(kept) == min(count, len(inputs))
    assert numbers == sorted(numbers)
    assert all(case == suite.cases[case.number] for case in kept)
    shortest = min(len(case.stdin) for case in kept)
    assert all(len(case.stdin) <= shortest for case in left)


def test_without_a_count_all_tests_are_kept():
    suite = read_suite(prints(*[("1", "2")] * 30))
    assert suite.longest(None) == suite
    assert isinstance(suite, Suite)
