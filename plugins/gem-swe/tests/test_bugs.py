"""Bugs that make a task, and those that make none."""

from gem_swe.bugs import UnusableError, bug_of, mutations_in
from gem_swe.features import features_in
from gem_swe.repository import Repository
from gem_swe.unknowable import texts_of

SOURCE = b'''"""Checks."""


def check(text: str, limit: int = 3) -> str:
    """Say what is wrong with a text."""
    if len(text) > limit:
        return "too long: " + text
    if not text:
        return "empty"
    return "right"
'''
DOCUMENTED = SOURCE.replace(b"with a text", b"with a text, such as `too long: `")
TESTS = b"""from checks import check


def test_long() -> None:
    assert check("abcd") == "too long: abcd"
    assert check("abcde", 4) == "too long: abcde"


def test_empty() -> None:
    assert check("") == "empty"


def test_right() -> None:
    assert check("abc") == "right"
    assert check("a") == "right"
"""


def repository(tests=TESTS, source=SOURCE):
    files = {"checks/__init__.py": source, "tests/test_checks.py": tests}
    return Repository("checks", files, ("checks/__init__.py",), ("tests/test_checks.py",), "true")


def bugs(found, operator):
    """Return, by its line, the bug or why it is of no use."""
    results = {}
    for one in mutations_in(found):
        if one.operator == operator:
            try:
                results[one.line] = bug_of(found, [one])
            except UnusableError as error:
                results[one.line] = str(error)
    return results


def test_a_bug_that_one_answer_mends_is_of_no_use(slugs):
    unusable = bugs(slugs, "removed branch")
    assert "one answer fits all that fails" in unusable.values()
    assert bugs(repository(), "removed branch")[8] == "one answer fits all that fails"


def test_a_text_that_is_gone_and_expected_is_shown_or_the_bug_is_of_no_use():
    assert bugs(repository(), "removed branch")[6].failing
    # The shortest failure is shown, in which the text is not.
    tests = TESTS + b'    assert check("abcd")[-1:] == "d"\n'
    why = bugs(repository(tests), "removed branch")[6]
    assert why == "a text that is expected stands nowhere any more"
    assert bugs(repository(tests, DOCUMENTED), "removed branch")[6].failing


def test_a_function_whose_texts_nobody_can_know_is_no_task():
    tests = TESTS + b"\n\ndef test_other() -> None:\n    assert True\n"
    assert features_in(repository(tests)) == []
    (found,) = features_in(repository(tests, DOCUMENTED))
    assert found.hidden == ("tests/test_checks.py::test_long",)


def test_texts_are_those_between_what_is_filled_in():
    code = 'f"one {x} two"; "three %5.2f four"; "five {} six".format(1); "a\\nb" "c"; "x"'
    assert set(texts_of(code)) == {"one", "two", "three", "four", "five", "six", "a\nbc"}
