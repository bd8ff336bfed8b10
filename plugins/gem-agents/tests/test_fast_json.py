"""With orjson and without it, the same JSON."""

import importlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_agents import fast_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.fixture(params=["with", "without"], autouse=True, scope="module")
def orjson(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            patch.setitem(sys.modules, "orjson", None)
        else:
            pytest.importorskip("orjson")
        yield importlib.reload(fast_json)
    importlib.reload(fast_json)


@given(value=values)
def test_what_is_written_is_read(orjson, value):
    written = orjson.write_json(value)
    assert json.loads(written) == value
    assert orjson.read_json(written) == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ({1: 2}, '{"1":2}'),
        (2**70, str(2**70)),
        ("a\ud800", '"a?"'),
    ],
)
def test_what_orjson_refuses_is_written_too(orjson, value, written):
    assert orjson.write_json(value) == written.encode()


def test_what_is_no_json_is_an_error(orjson):
    with pytest.raises(ValueError, match="."):  # noqa: RUF043 - each has its own words
        orjson.read_json(b"{")
