"""Tools over a database: what a call gives, and what it leaves behind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough
from tau_toy import BASE, LibraryTools

from gem_core.errors import ConfigError
from gem_tau.database import Database
from gem_tau.toolkit import Toolkit


@pytest.fixture
def tools() -> LibraryTools:
    return LibraryTools(Database(BASE))


def test_a_call_returns_text_and_json(tools: LibraryTools) -> None:
    assert tools.call("find_book", {"title": "ash"}).output == "b1"
    result = tools.call("lend", {"reader_id": "r1", "book_id": "b1"})
    assert (result.ok, result.kind) == (True, "write")
    assert '"loans": ["b1"]' in result.output


def test_a_refused_call_changes_nothing(tools: LibraryTools) -> None:
    result = tools.call("lend", {"reader_id": "r1", "book_id": "b2"})  # after the reader's edit
    assert (result.ok, result.output) == (False, "Error: no copy is left")
    assert tools.db.diff() == []


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("find_bok", {"title": "Ash"}, "find_book"),
        ("find_book", {}, "title"),
        ("find_book", {"title": "Ash", "year": 3}, "year"),
        ("find_book", {"title": ["Ash"]}, "title"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    tools: LibraryTools, name: str, arguments: dict, message: str
) -> None:
    result = tools.call(name, arguments)
    assert not result.ok
    assert message in result.output


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + 2", "4.0"), ("(12.50 + 3) * -2", "-31.0"), ("10 / 4", "2.5"), ("1/3", "0.33")],
)
def test_calculate_rounds_to_two_decimals(tools: LibraryTools, expression: str, value: str) -> None:
    assert tools.call("calculate", {"expression": expression}).output == value


@pytest.mark.parametrize(
    "expression",
    [
        *("9**9**9", "__import__('os')", "1 if 1 else 2", "'a' * 9", "", "1 +", "1/0", "abs(1)"),
        *("(" * 190, "9" * 190, "1e400", "True", "1j", "[1]", "0x10 if 1 else 1", "1;2", "a"),
    ],
)
def test_calculate_refuses_what_is_not_arithmetic(tools: LibraryTools, expression: str) -> None:
    result = tools.call("calculate", {"expression": expression})
    assert not result.ok
    assert result.output.startswith("Error: ")


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(st.text(alphabet="0123456789.+-*/() e_", max_size=40))
def test_calculate_never_raises(expression: str) -> None:
    result = LibraryTools(Database(BASE)).call("calculate", {"expression": expression})
    assert result.ok == (not result.output.startswith("Error"))


def test_schemas_describe_the_tools_and_not_other_methods() -> None:
    names = [function.name for function in LibraryTools.functions()]
    assert names == ["find_book", "lend", "think", "calculate", "transfer_to_human_agents"]
    assert LibraryTools.kind_of("lend") == "write"
    assert LibraryTools.kind_of("think") == "neither"
    with pytest.raises(ConfigError, match="has_loans"):
        LibraryTools.kind_of("has_loans")


def test_a_domain_may_leave_a_tool_out() -> None:
    class Plain(Toolkit):
        think = None  # type: ignore[assignment]

    assert "think" not in [function.name for function in Plain.functions()]
    assert not Plain(Database(BASE)).call("think", {"thought": ""}).ok
