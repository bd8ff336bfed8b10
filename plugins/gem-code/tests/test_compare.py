"""Comparisons of outputs and of values."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_code.compare import NAMES, find_comparison
from gem_core.errors import ConfigError

NUMBERS = st.floats(-1e9, 1e9)


def same(name, expected, output, *, values=False):
    return find_comparison(name, checkers={}, values=values)("input", expected, output)


def test_comparisons_are_ordered_from_strict_to_lenient(subtests):
    for expected, output, weakest in [
        ("3\n", "3", "exact"),
        ("3", "\n3 \n\n", "exact"),
        ("1\r\n2", "1\n2\r\n", "exact"),
        ("1 2\n3", "1 2 \n3", "lines"),
        ("1\n2", "1\t\n2", "lines"),
        ("1 2\n3", "1  2\n3", "tokens"),
        ("1 2 3", "1\n2\n3", "tokens"),
        ("0.5 x", ".50 x", "float"),
        ("1000000000", "1000000001", "float"),
        ("2", "2.0000001", "float"),
        ("0", "1e-7", "float"),
        ("inf", "Infinity", "float"),
        ("1 2", "1", None),
        ("3", "4", None),
        ("3", "", None),
        ("3", "3 3", None),
        ("12", "1 2", None),
        ("yes", "Yes", None),
        ("nan", "x", None),
        ("1e400", "2", None),
        ("1e309", "inf", None),
        ("-1e309", "-inf", None),
        ("1e309", "-1e309", None),
        ("1e309", "1e310", None),
        ("1e309", "1e308", None),
        ("inf", "-inf", None),
        ("inf", "9" * 400, None),
        ("nan", "1e309", None),
        ("9" * 400, "8" * 400, None),
        ("1e999999999999999999999", "inf", None),
        ("1e309", "10e308", "float"),
        ("9" * 400, "9" * 399 + "8", "float"),
        ("1" + "0" * 400, "1e400", "float"),
        ("1e-400", "0", "float"),
    ]:
        with subtests.test(f"{expected[:30]!r} {output[:30]!r}"):
            first = NAMES.index(weakest) if weakest else len(NAMES)
            said = [same(name, expected, output) for name in NAMES]
            assert said == [place >= first for place in range(len(NAMES))]


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=5), st.sampled_from([1e-9, 1e-4, 0.1]))
@settings(max_examples=100 if thorough() else 40)
def test_the_tolerance_can_be_set(numbers, tolerance):
    text = " ".join(map(repr, numbers))
    near = " ".join(repr(n + 0.5 * tolerance) for n in numbers)
    far = " ".join(repr(n + 4 * tolerance * max(1, abs(n))) for n in numbers)
    assert same(f"float:{tolerance}", text, near)
    assert not same(f"float:{tolerance}", text, far)


@pytest.mark.slow
@given(st.text(max_size=20))
def test_every_comparison_accepts_equal_texts(text):
    assert all(same(name, text, text) for name in NAMES)


@pytest.mark.slow
@given(st.text(max_size=9), st.text(max_size=9))
def test_a_lenient_comparison_accepts_all_that_a_strict_one_accepts(expected, output):
    said = [same(name, expected, output) for name in NAMES]
    assert said == sorted(said)


def test_values_are_compared_exactly_or_with_a_tolerance(subtests):
    for expected, output, exact, near in [
        ([1, "a"], [1, "a"], True, True),
        ([1, 2], (1, 2), False, True),
        ([1.0, {"x": 2}], [1, {"x": 2.0000001}], False, True),
        ({"x": 1}, {"y": 1}, False, False),
        ([1], [1, 2], False, False),
        ([1], 1, False, False),
        ("1.0", "1.00000001", False, False),
        (10**400, 10**400, True, True),
        (None, None, True, True),
        (math.inf, math.inf, True, True),
        (math.inf, 10**400, False, False),
        (-math.inf, -(10**400), False, False),
        (math.inf, -math.inf, False, False),
        (math.nan, math.nan, False, False),
        (10**400, 10**400 + 1, False, True),
        (10**400, 2 * 10**400, False, False),
        (10**400, 1e308, False, False),
        ([10**400], [math.inf], False, False),
    ]:
        with subtests.test(f"{expected!r:.40} {output!r:.40}"):
            for name in ("exact", "lines", "tokens"):
                assert same(name, expected, output, values=True) is exact
            assert same("float", expected, output, values=True) is near


@pytest.mark.parametrize("name", ["exakt", "float:x", "float:0", "float:-1", "lines:3", ""])
def test_an_unknown_comparison_is_rejected(name):
    with pytest.raises(ConfigError, match=r"exact|tolerance"):
        find_comparison(name, checkers={})


def test_a_checker_is_found_by_its_name():
    def even(given, expected, output):
        return int(output) % 2 == 0

    assert find_comparison("even", checkers={"even": even}) is even
    with pytest.raises(ConfigError, match="Did you mean 'even'"):
        find_comparison("evn", checkers={"even": even})
