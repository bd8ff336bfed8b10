"""JSON is written even for values that orjson refuses."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_agents.fast_json import read_json, write_json

EXAMPLES = 100 if thorough() else 20
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(value=values)
def test_written_values_are_json_of_the_standard_library(value):
    assert json.loads(write_json(value)) == value


@settings(max_examples=EXAMPLES)
@given(value=values)
def test_json_of_the_standard_library_is_read(value):
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ({1: 2}, '{"1":2}'),
        (2**70, str(2**70)),
        ("a\ud800", '"a?"'),
    ],
)
def test_values_that_orjson_refuses_are_written_too(value, written):
    assert write_json(value) == written.encode()


def test_invalid_json_is_an_error():
    with pytest.raises(ValueError, match="."):  # noqa: RUF043 - any message
        read_json(b"{")
