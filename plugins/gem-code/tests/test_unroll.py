"""An unrolled test says the same of an honest solution as running the test does."""

import ast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_code.conditions import Approx, evaluate, is_condition
from gem_code.unroll import unroll

SOLUTION = """
def double(n):
    return n * 2

def flip(items):
    return list(reversed(items))

def first(items):
    return items[0] if items else None

def halve(n):
    return n / 2
"""
NUMBERS = st.integers(-3, 3)
LISTS = st.lists(NUMBERS, max_size=3)
CALLS = (
    st.builds("double({})".format, NUMBERS)
    | st.builds("halve({})".format, NUMBERS)
    | st.builds("first({})".format, LISTS)
    | st.builds("len(flip({}))".format, LISTS)
    | st.builds("sum(flip({}))".format, LISTS)
)
CONDITIONS = (
    st.builds("{} {} {}".format, CALLS, st.sampled_from(["==", "!=", "<", ">="]), NUMBERS)
    | st.builds("{} == {}".format, CALLS, CALLS)
    | st.builds("not {}".format, CALLS)
    | st.builds("{} in {}".format, CALLS, LISTS)
    | st.builds("abs({} - {}) < 0.6".format, CALLS, NUMBERS)
    | st.builds("{} < {} < {}".format, NUMBERS, CALLS, NUMBERS)
    | st.builds("sorted(flip({})) == {}".format, LISTS, LISTS)
    | st.builds("flip({})[:2] == {}".format, LISTS, LISTS)
    | st.builds("isinstance({}, int)".format, CALLS)
    | st.builds("{} and {} > 0".format, CALLS, NUMBERS)
)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3)
STATEMENTS = (
    st.builds("assert {}".format, CONDITIONS)
    | st.builds("got = {}\nassert got == {}".format, CALLS, NUMBERS)
    | st.builds("items = {}\nitems.append(1)\nassert double(1) == {}".format, LISTS, NUMBERS)
    | st.builds("for n, w in {}:\n    assert double(n) >= w".format, PAIRS)
    | st.builds("for i, (n, w) in enumerate({}):\n    assert double(n) + i != w".format, PAIRS)
    | st.builds("for n in range({}):\n    assert halve(n) < {}".format, NUMBERS, NUMBERS)
)


@pytest.mark.slow
@settings(max_examples=400 if thorough() else 80)
@given(st.lists(STATEMENTS, min_size=1, max_size=3).map("\n".join))
def test_an_unrolled_test_and_the_test_agree(source):
    """The right or wrong value, and an exception, count as in Python."""
    unrolled = unroll(ast.parse(source).body)
    assume(unrolled is not None)
    space = {}
    exec(SOLUTION, space)  # noqa: S102
    values = [eval(call, space) for call in unrolled.calls]  # noqa: S307
    try:
        passed = all(evaluate(each.tree, values) for each in unrolled.conditions)
    except TypeError:
        passed = False
    try:
        exec(source, space)  # noqa: S102
        expected = True
    except (AssertionError, TypeError):
        expected = False
    assert passed is expected


def value(source, *values):
    tree = ast.parse(source, mode="eval").body
    assert is_condition(tree)
    return evaluate(tree, values)


def test_unsupported_expressions_are_not_conditions(subtests):
    for source in [
        "print(1)",
        "open('x')",
        "[].append(1)",
        "(lambda: 1)()",
        "[n for n in (1, 2)]",
        "name",
        "1 if True else 2",
        "1 << 2",
        "f'{1}'",
        "{**{}}",
        "max(*[1])",
        "max(**{})",
        "(n := 1)",
        "'%s' % 1",
        "b'%d' % 1",
    ]:
        with subtests.test(source):
            assert not is_condition(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize(
    "source",
    ["'x' * 9000000", "[0] * 9000000", "10 ** 10 ** 9", "str('%999999999d') % 1", "{} ** 2"],
)
def test_conditions_need_little_time_and_memory(source):
    with pytest.raises((ValueError, TypeError)):
        value(source)


def test_approximate_values_equal_those_that_pytest_accepts(subtests):
    for expected, options, actual, near in [
        (1.0, {}, 1.0000001, True),
        (1.0, {}, 1.0001, False),
        (0, {}, 1e-13, True),
        (0, {}, 1e-9, False),
        (1.0, {"rel": 0.1}, 1.05, True),
        (1.0, {"abs": 0.1}, 1.05, True),
        (1.0, {"abs": 0.01}, 1.05, False),
        (float("inf"), {}, float("inf"), True),
        (float("inf"), {}, 1e308, False),
        (float("nan"), {}, float("nan"), False),
        ([1, 2], {}, [1, 2.0000001], True),
        ([1, 2], {}, [1], False),
        ({"a": 1}, {}, {"a": 1.0000001}, True),
        ({"a": 1}, {}, {"b": 1}, False),
        (1, {}, "1", False),
        (None, {}, None, True),
    ]:
        with subtests.test(f"{expected} {options} {actual}"):
            assert (Approx(expected, **options) == actual) is near
            assert (actual == pytest.approx(expected, **options)) is near
