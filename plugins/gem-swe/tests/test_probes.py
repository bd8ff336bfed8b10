"""Tests as probes: what is expected is not in them, and what is observed decides."""

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_core.errors import ConfigError
from gem_swe.guest import _encoded
from gem_swe.observations import failures, read_observed, shown
from gem_swe.probes import probed_tests
from gem_swe.trial import try_tests

PACKAGE = {
    "pack/__init__.py": b"class Odd(ValueError):\n    pass\n\n\ndef half(n, places=1):\n"
    b"    if n % 2:\n        raise Odd(n)\n    return n / 2\n"
}
PLAIN = b"""
from pack import half

def helper(n):
    return half(n)

def test_values():
    assert half(4) == 2
    assert half(2) == 1.0, "message"
    assert not half(0)
    for n in (2, 4):
        assert helper(n) > 0
"""
CASES = b"""
import unittest
from pack import Odd, half

class HalfTest(unittest.TestCase):
    def setUp(self):
        self.n = 8

    def test_set_up(self):
        self.assertEqual(half(self.n), 4)
        self.assertTrue(half(2))
        self.assertFalse(half(0))

    def test_odd(self):
        with self.assertRaises(ValueError):
            half(3)
        with self.assertRaises(Odd):
            half(5)
"""


def outcome(tests, source=None):
    """Return what fails of a package whose source has changed."""
    files = {**PACKAGE, **tests}
    probed = probed_tests(tests)
    changed = {**files, "pack/__init__.py": source or files["pack/__init__.py"]}
    return failures(probed, try_tests(files, probed), try_tests(changed, probed))


def test_nothing_that_a_test_expects_is_in_its_probe():
    tests = {
        "tests/test_a.py": b"from pack import half\ndef test_a():\n    assert half(4) == 2718\n"
    }
    (source,) = probed_tests(tests).sources.values()
    assert "half(4)" in source
    assert "2718" not in source


def test_names_that_only_say_what_is_expected_are_not_in_the_program_either():
    tests = b"""
from pack import half
ALL = [31, 41]
START = 4

def test_a():
    expected = [59, 26]
    given = START
    for n in range(2):
        one: int = 53
        assert half(given + n) == expected[n] + one + ALL[0]
"""
    probed = probed_tests({"t.py": tests})
    (source,) = probed.sources.values()
    assert not [number for number in ("31", "59", "53") if number in source]
    (probe,) = probed.probes["t.py::test_a"]
    assert probe.before == ("given = START",)
    assert "START = 4" in source


@pytest.mark.parametrize("tests", [PLAIN, CASES])
def test_a_repository_as_it_should_be_fails_in_nothing(tests):
    assert outcome({"tests/test_a.py": tests}) == []


@pytest.mark.parametrize(
    ("tests", "old", "new", "failed"),
    [
        (PLAIN, "n / 2", "n / 4", {"tests/test_a.py::test_values"}),
        (CASES, "n / 2", "n / 4", {"tests/test_a.py::HalfTest::test_set_up"}),
        (CASES, "raise Odd(n)", "return 0", {"tests/test_a.py::HalfTest::test_odd"}),
        (CASES, "raise Odd(n)", "raise ValueError(n)", {"tests/test_a.py::HalfTest::test_odd"}),
    ],
)
def test_what_changes_fails(tests, old, new, failed):
    source = PACKAGE["pack/__init__.py"].decode().replace(old, new).encode()
    assert {one.test for one in outcome({"tests/test_a.py": tests}, source)} == failed


def test_a_failure_says_what_was_expected_and_what_came():
    source = PACKAGE["pack/__init__.py"].replace(b"n / 2", b"str(n)")
    first, *_ = outcome({"tests/test_a.py": PLAIN}, source)
    assert (first.expression, first.expected, first.got) == ("half(4)", "2.0", "'4'")


@pytest.mark.parametrize(
    "source",
    [
        b"import os\nos._exit(0)\n",
        b"raise SystemExit(0)\n",
        b"def half(n):\n    while True: pass\n",
        b"not python",
    ],
)
def test_a_package_that_ends_the_tests_fails_in_all_of_them(source):
    failed = {
        one.test for one in outcome({"tests/test_a.py": PLAIN, "tests/test_b.py": CASES}, source)
    }
    assert len(failed) == 3


def test_what_a_test_is_set_up_with_comes_before_what_it_observes():
    (odd, probe, *_) = probed_tests({"t.py": CASES}).probes["t.py::HalfTest::test_set_up"]
    assert (odd.before, odd.expression) == (("n = 8",), "half(n)")
    assert probe.before == ("n = 8", "half(n)")


@pytest.mark.parametrize("content", [b"def test_a(:", b"def test_a():\n    print(1)\n"])
def test_tests_that_cannot_be_read_are_refused(content):
    with pytest.raises(ConfigError, match=r"tests/test_a\.py"):
        probed_tests({"tests/test_a.py": content})


SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, places=2),
    st.fractions(),
    st.dates(),
)
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner), st.sets(SIMPLE)
    ),
    max_leaves=8,
)
PROBED = probed_tests({"t.py": b"def test_a():\n    assert 1 == 2\n"})
KNOWN = PROBED.known


def fails(expected, got):
    notes = json.dumps(["t.py::test_a", [[0, _encoded(got)]]])
    return bool(
        failures(PROBED, {"t.py::test_a": [[0, _encoded(expected)]]}, read_observed(notes, KNOWN))
    )


@given(VALUES)
def test_a_value_is_equal_to_itself(value):
    assert not fails(value, value)
    assert isinstance(shown(_encoded(value)), str)


@given(SIMPLE, SIMPLE)
def test_values_are_equal_as_in_python(one, other):
    assert fails(one, other) == (one != other)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, True, True),
        (Decimal("1.50"), Decimal("1.5"), True),
        (Fraction(1, 2), 0.5, True),
        ((1, 2), [1, 2], False),
        ({1, 2}, {2, 1}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), False),
        ("1", 1, False),
        (float("nan"), float("nan"), True),
    ],
)
def test_kinds_are_told_apart(one, other, equal):
    assert fails(one, other) is not equal


HOSTILE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["list", "dict", "decimal", "fraction", "float", "raised", "set", ""]),
            inner,
            max_size=2,
        ),
    ),
)


@given(st.lists(st.one_of(HOSTILE, st.tuples(st.integers(0, 1), HOSTILE)), max_size=3))
def test_whatever_a_machine_prints_is_read_as_data(notes):
    observed = read_observed(json.dumps(["t.py::test_a", notes]), KNOWN)
    found = failures(PROBED, {"t.py::test_a": [[0, {"decimal": "1.25"}]]}, observed)
    assert found or [list(one) for one in notes] == [[0, {"decimal": "1.25"}]]


ERRORS = [KeyError, UnicodeError, ZeroDivisionError, ValueError]
RAISES = {one: probed_tests({"t.py": f"""
import unittest
class T(unittest.TestCase):
    def test_a(self):
        with self.assertRaises({one.__name__}):
            f()
""".encode()}) for one in (LookupError, ValueError)}  # fmt: skip


def raised(*kinds, **more):
    names = [one.__name__ for kind in kinds for one in kind.__mro__[:-1]]
    return {"raised": names, "message": "", **more}


@pytest.mark.parametrize(
    ("wanted", "expected", "got", "is_right"),
    [
        (LookupError, raised(KeyError), raised(KeyError), True),
        (LookupError, raised(KeyError), raised(IndexError), True),
        (LookupError, raised(KeyError), raised(LookupError), True),
        (LookupError, raised(KeyError), raised(ValueError), False),
        (LookupError, raised(KeyError), raised(*ERRORS, LookupError), False),
        (LookupError, raised(KeyError), raised(KeyError, *ERRORS), False),
        (LookupError, raised(KeyError), raised(KeyError, list=[]), False),
        (LookupError, raised(KeyError), {"raised": raised(KeyError)["raised"]}, False),
        (LookupError, raised(KeyError), {"raised": "LookupError", "message": ""}, False),
        (ValueError, raised(UnicodeError), raised(ValueError), True),
        (ValueError, raised(UnicodeError), raised(UnicodeError, KeyError), False),
    ],
)
def test_an_error_is_of_one_class_and_of_those_it_is_derived_from(wanted, expected, got, is_right):
    test = "t.py::T::test_a"
    probed = RAISES[wanted]
    observed = read_observed(json.dumps([test, [[0, got]]]), probed.known)
    assert bool(failures(probed, {test: [[0, expected]]}, observed)) is not is_right


def test_a_value_is_of_one_kind():
    both = {"list": [], "decimal": "1.25"}
    observed = read_observed(json.dumps(["t.py::test_a", [[0, both]]]), KNOWN)
    assert failures(PROBED, {"t.py::test_a": [[0, {"decimal": "1.25"}]]}, observed)


@pytest.mark.parametrize(
    "value",
    [
        {"set": [n * ((1 << 61) - 1) for n in range(30_000)]},  # which all have the same hash
        {"decimal": "1e999999999"},
        {"list": [0] * 20_000},
        "x" * 1_000_000,
    ],
    ids=["hashes", "decimal", "list", "text"],
)
def test_what_is_too_long_is_not_compared(value):
    observed = read_observed(
        json.dumps(["t.py::test_a", [[0, value], [0, {"late": value}]]]), KNOWN
    )
    found = failures(PROBED, {"t.py::test_a": [[0, 1], [0, 2]]}, observed)
    assert len(found) == 2
    assert all(len(one.got) < 400 for one in found)


def test_a_file_that_does_not_run_says_why():
    tests = {"t.py": b"from pack import half\ndef test_a():\n    assert half(2) == 1\n"}
    (found,) = outcome(tests, b"1 / 0")
    assert found.got == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "line", ["[" * 5000, "[1]", "{}", '["a"]', "null", '["t.py::test_a", 1]', '["x", []]']
)
def test_a_line_that_no_guest_prints_is_left_out(line):
    assert read_observed(line, KNOWN) == {}


@pytest.mark.parametrize("line", ["0", "", "[", '["', '["t.py::test_a", []]'])
def test_lines_without_end_are_not_read_to_the_end(line):
    observed = read_observed(f"{line}\n" * 2_000_000, KNOWN)
    assert failures(PROBED, {"t.py::test_a": [[0, 1]]}, observed)


def test_halves_of_characters_do_not_reach_what_is_written():
    observed = read_observed(
        '["t.py::test_a", [[0, {"raised": ["\\ud800"], "message": ""}]]]', KNOWN
    )
    (found,) = failures(PROBED, {"t.py::test_a": [[0, 1]]}, observed)
    assert found.got.encode() == b"\\ud800"


def test_results_that_come_twice_do_not_count():
    note = '["t.py::test_a", [[0, 1]]]'
    observed = read_observed(f"{note}\n{note}", KNOWN)
    assert failures(PROBED, {"t.py::test_a": [[0, 1]]}, observed)
