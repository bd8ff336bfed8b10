"""Errors: one root, a builtin each, messages as they were written, fit to cross processes."""

import pickle

import pytest

import gem_core.errors
from gem_core.errors import EnvironmentFault, GemError, near_names

ERRORS = [
    value
    for _, value in sorted(vars(gem_core.errors).items())
    if isinstance(value, type) and issubclass(value, GemError) and value is not GemError
]


def test_there_is_a_class_for_each_kind_of_trouble() -> None:
    assert len(ERRORS) >= 10


def test_every_error_is_also_the_builtin_that_it_specialises(subtests: pytest.Subtests) -> None:
    for cls in ERRORS:
        with subtests.test(error=cls.__name__):
            bases = {base for base in cls.__mro__ if base.__module__ == "builtins"}
            assert bases - {Exception, BaseException, object}
            assert cls.__doc__


def test_every_error_keeps_its_message_when_pickled(subtests: pytest.Subtests) -> None:
    for cls in ERRORS:
        for message in ("no id 'x'", "", "two\nlines", "a \\boxed{5}"):
            with subtests.test(error=cls.__name__, message=message):
                error = cls(message)
                again = pickle.loads(pickle.dumps(error))  # noqa: S301 - its own
                assert type(again) is cls
                assert str(again) == str(error) == message
                assert again.args == error.args


def test_an_error_without_a_message_is_empty_text() -> None:
    assert str(GemError()) == ""


def test_a_fault_keeps_its_index_and_what_the_others_returned() -> None:
    fault = EnvironmentFault("environment 3 raised", 3, {0: "fine"})
    again = pickle.loads(pickle.dumps(fault))  # noqa: S301 - its own
    assert (again.index, again.completed) == (3, {0: "fine"})
    assert EnvironmentFault("nobody knows which").completed == {}


def test_near_names_are_a_question_or_nothing() -> None:
    assert near_names("lenght", ["length", "width"]) == " Did you mean 'length'?"
    assert near_names("Wordle-v1", ["Wordle-v0", "Wordle-v2"]).count("'") == 4
    assert near_names("zzz", ["length", "width"]) == ""
    assert near_names("a", []) == ""


def test_near_names_compare_the_beginning_of_a_long_name() -> None:
    assert near_names("a" * 100 + "b" * 10_000_000, ["a" * 100]) != ""
