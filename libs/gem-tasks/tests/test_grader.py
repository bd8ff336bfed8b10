"""Graders are found by id, by place, in mappings or as functions, and give a finite grade."""

import math
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import (
    ConfigError,
    EntryPointError,
    UnknownIdError,
    UnknownKwargError,
)
from gem_core.maybe_async import drive
from gem_tasks import Attempt, Grade, make_grader
from gem_tasks.grader import GraderError, GraderSpec, grading
from gem_tasks.grader_checks import check_grader
from gem_tasks.rewards import Format, Length

EXAMPLES = 100 if thorough() else 20


def attempt(response="6", answer="6", golds=("6",), **fields):
    return Attempt("3 + 3?", response, answer, golds, **fields)


def graded(grader, **fields):
    return drive(grading(grader, attempt(**fields), "mine"))


def brevity(attempt, longest=10):
    return len(attempt.response) <= longest


class Brevity:
    def __init__(self, *, longest):
        self.longest = longest

    def __call__(self, attempt):
        return len(attempt.response) <= self.longest


@pytest.fixture
def mine(monkeypatch):
    """Put graders of one's own into a module."""
    module = types.ModuleType("my_graders")
    module.brevity, module.Brevity = brevity, Brevity
    monkeypatch.setitem(__import__("sys").modules, "my_graders", module)


@pytest.mark.parametrize(
    "grader",
    [
        brevity,
        Brevity(longest=10),
        "my_graders:brevity",
        {"id": "my_graders:brevity", "longest": 10},
        {"id": "my_graders:Brevity", "longest": 10},
        {"id": brevity, "longest": 10},
        GraderSpec(id="brevity", entry_point=Brevity, kwargs={"longest": 10}),
        {"id": "format", "pattern": ".{0,10}"},
    ],
    ids=[
        "function",
        "grader",
        "path of a function",
        "path of a function with parameters",
        "path of a class with parameters",
        "function with parameters",
        "spec",
        "id with parameters",
    ],
)
def test_a_grader_is_an_id_a_place_a_mapping_or_a_function(mine, grader):
    made = make_grader(grader)
    assert graded(made, response="short") == Grade(1.0, True)
    assert graded(made, response="a long response") == Grade(0.0, False)


@pytest.mark.parametrize(
    ("grader", "error", "message"),
    [
        ("lenght", UnknownIdError, "Did you mean 'length'"),
        ("my_graders:brevty", EntryPointError, "'brevty'.*Did you mean 'brevity'"),
        ("no_package:x", UnknownIdError, "no module 'no_package'"),
        ({"id": "my_graders:brevity", "longst": 3}, UnknownKwargError, "longest"),
        ({"id": "my_graders:Brevity"}, ConfigError, "missing a required .*'longest'"),
        ({"longest": 3}, ConfigError, "'id'"),
        (3, ConfigError, "got 3"),
        (None, ConfigError, "got None"),
        ({"id": "length", "free": 5, "longest": 5}, ConfigError, "0 <= free < longest"),
        ({"id": "format", "pattern": "("}, ConfigError, "not a regular expression"),
        ({"id": "judge", "agent": "nobody"}, UnknownIdError, "nobody"),
    ],
)
def test_a_wrong_grader_says_what_is_wrong(mine, grader, error, message):
    with pytest.raises(error, match=message):
        make_grader(grader)


@pytest.mark.parametrize(
    ("value", "grade"),
    [
        (True, Grade(1.0, True)),
        (False, Grade(0.0, False)),
        (1, Grade(1.0, True)),
        (0.5, Grade(0.5, False)),
        (-2, Grade(-2.0, False)),
        (Grade(0.3, True, {"why": "x"}), Grade(0.3, True, {"why": "x"})),
    ],
)
def test_a_grade_is_a_number_a_truth_value_or_a_grade(value, grade):
    assert graded(lambda attempt: value) == grade


@pytest.mark.parametrize(
    "value", [None, "1.0", math.nan, math.inf, [1.0], (1.0, True), Grade(math.nan, False)]
)
def test_a_grade_of_another_type_is_a_fault_of_the_grader(value):
    with pytest.raises(GraderError, match="'mine' must return a finite number"):
        graded(lambda attempt: value)


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy", reason="pip install numpy")
    assert graded(lambda attempt: numpy.float32(0.5)) == Grade(0.5, False)
    assert graded(lambda attempt: numpy.bool_(True)) == Grade(1.0, True)


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=50), st.integers(0, 20), st.integers(1, 30))
def test_the_penalty_of_length_falls_from_0_to_minus_1(response, free, more):
    penalty = Length(free=free, longest=free + more)
    values = [penalty(attempt(response="x" * n)) for n in range(free + more + 2)]
    assert values[: free + 1] == [0.0] * (free + 1)
    assert values[-2:] == [-1.0, -1.0]
    assert values == sorted(values, reverse=True)
    assert -1.0 <= penalty(attempt(response=response)) <= 0.0


def test_the_format_grader_uses_the_environment_or_a_pattern():
    assert Format()(attempt()) == 1.0
    assert Format()(attempt(answer=None)) == 0.0
    own = Grade(0.0, False, {"format_error": True})
    assert Format()(attempt(grade=own)) == 0.0
    thought = Format(pattern="<think>.+</think>.*")
    assert thought(attempt(response="<think>a\nb</think>6")) == 1.0
    assert thought(attempt(response="6")) == 0.0


def test_correctness_is_only_a_part():
    with pytest.raises(ConfigError, match="part of rewards"):
        make_grader("correctness")(attempt())


@pytest.mark.parametrize(
    ("answer", "correct"), [("6", True), (" 6\n", True), ("SIX", True), ("7", False), ("", False)]
)
def test_texts_are_compared_regardless_of_case_and_space(answer, correct):
    assert make_grader("text")(attempt(answer=answer, golds=("6", "six"))) is correct


def test_the_check_of_graders_finds_what_is_wrong(monkeypatch):
    assert check_grader("text").findings == []
    values = iter(range(10_000))
    module = types.ModuleType("bad_graders")
    module.random = lambda attempt: next(values)
    module.fails = lambda attempt: len(attempt.answer)
    module.text = lambda attempt: "good"
    monkeypatch.setitem(__import__("sys").modules, "bad_graders", module)
    for name, message in {"random": "differ", "fails": "TypeError", "text": "finite"}.items():
        findings = check_grader(f"bad_graders:{name}").findings
        assert message in findings[0].message
