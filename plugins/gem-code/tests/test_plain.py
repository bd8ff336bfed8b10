"""Values pass between processes as plain data, and nothing else does."""

import json
import math
from collections import Counter, OrderedDict, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_code.plain import GEM_DEPTH, GEM_KINDS, gem_decode, gem_encode

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.fractions()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9))
)
KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.sets(KEYS)
        | st.frozensets(KEYS)
        | st.lists(inner).map(deque)
    ),
    max_leaves=20,
)


def refuse(value):
    raise TypeError(type(value).__name__)


def passed(value):
    return gem_decode(json.loads(json.dumps(gem_encode(value, refuse))), GEM_KINDS)


def types(value):
    """Return the types of a value and of what it contains."""
    if isinstance(value, dict):
        return [type(value), [(types(k), types(v)) for k, v in value.items()]]
    if isinstance(value, list | tuple | deque):
        return [type(value), [types(item) for item in value]]
    return type(value)


@pytest.mark.slow
@given(VALUES)
@settings(max_examples=100 if thorough() else 30)
def test_a_value_arrives_with_its_types(value):
    assert passed(value) == value
    assert types(passed(value)) == types(value)


@pytest.mark.parametrize(
    "value",
    [
        Counter("aab"),
        OrderedDict([("b", 1), ("a", 2)]),
        bytearray(b"\0\xff"),
        math.inf,
        "\ud800",
        date(2020, 1, 2),
        datetime(2020, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001 - those of tests have no zone
        timedelta(1, 2, 3),
        Fraction(1, 3),
        Decimal("-1.50"),
    ],
)
def test_values_of_the_standard_library_arrive(value):
    assert (passed(value), type(passed(value))) == (value, type(value))


def test_integers_of_any_length_arrive():
    for value in (10**6000, -(2**20_000)):
        assert passed(value) == value


def test_objects_with_their_own_operators_arrive_as_plain_values():
    class Number(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    class Items(list):
        def __eq__(self, other):
            return True

        __hash__ = None

    for value, plain in ((Number(5), 5), (Items([1]), [1]), ({1: Number(5)}, {1: 5})):
        assert types(passed(value)) == types(plain)
        assert passed(value) != 6
    with pytest.raises(TypeError, match="object"):
        passed([object()])


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_limited_in_both_directions():
    assert passed(nested(GEM_DEPTH - 1)) == nested(GEM_DEPTH - 1)
    with pytest.raises(ValueError, match="levels"):
        gem_encode(nested(GEM_DEPTH), refuse)
    with pytest.raises(ValueError, match="levels"):
        gem_decode(nested(GEM_DEPTH), GEM_KINDS)
    itself = []
    itself.append(itself)
    with pytest.raises(ValueError, match="levels"):
        gem_encode(itself, refuse)


def test_malformed_encodings_are_refused(subtests):
    for encoded in [
        {},
        {"a": 1, "b": 2},
        {"os.system": "true"},
        {"set": [[1]]},
        {"int": "x"},
        {"range": ["1"]},
        {"Fraction": [1, 0]},
        {"array": ["|O8", [1]]},
        {"bytes": "\u0100"},
        {"bytes": 5},
        {"bytearray": []},
        {"dict": [1]},
        {"Decimal": "x"},
        {"date": [0, 0, 0]},
    ]:
        with subtests.test(ascii(encoded)):
            refusals = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
            with pytest.raises(refusals):
                gem_decode(encoded, GEM_KINDS)
