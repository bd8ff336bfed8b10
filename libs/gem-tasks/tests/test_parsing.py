"""The parser of code blocks: which block is read, what counts as a fence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_tasks.parsing import last_code_block

LENGTH = 200_000 if thorough() else 100_000
EXAMPLES = 100 if thorough() else 20

CODE = st.text(alphabet="ab =\n()'", max_size=40)


@pytest.mark.parametrize("language", ["", "python", "Python3", "c++", "c#", "objective-c", " py "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_fence_may_name_any_language_in_one_word(language: str, newline: str) -> None:
    text = newline.join([f"```{language}", "x = 1", "y = 2", "```"])
    assert last_code_block(text) == "x = 1\ny = 2"


def test_the_last_block_counts() -> None:
    text = "First\n```python\nx = 1\n```\nno, rather\n```\nx = 2\n```\nas `x` is better."
    assert last_code_block(text) == "x = 2"


def test_a_closing_fence_opens_no_block() -> None:
    assert last_code_block("```\nx = 1\n```\nThat is all.\n") == "x = 1"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", None),
        ("x = 1", None),
        ("```python\nx = 1", None),
        ("```x = 1```", None),
        ("``\nx = 1\n``", None),
        ("```python\n```", ""),
        ("```python\nx = 1\n```\n```python\nx =", "x = 1"),
        ("```python\nx = 1```", "x = 1"),
        ("```two words\nx = 1\n```", None),
    ],
)
def test_only_a_block_with_both_fences_is_read(text: str, code: str | None) -> None:
    assert last_code_block(text) == code


def test_shared_indentation_is_taken_off_and_other_kept() -> None:
    text = "1. Like this:\n   ```python\n   if x:\n       y = '''\n\n   '''\n   ```\n"
    assert last_code_block(text) == "if x:\n    y = '''\n\n'''"
    assert last_code_block("```\nif x:\n  y = '''\n   \n'''\n```") == "if x:\n  y = '''\n   \n'''"


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(before=st.text(alphabet="ab \n`", max_size=9), code=CODE, after=CODE)
def test_the_text_between_the_last_fences_is_read(before: str, code: str, after: str) -> None:
    fenced = f"{before.replace('```', '')}\n```python\nx = 0\n{code}\n```\n{after}"
    assert last_code_block(fenced.lstrip("`")) == f"x = 0\n{code}".rstrip()


@pytest.mark.slow
@pytest.mark.timeout(60)  # a search of quadratic time takes minutes
@pytest.mark.parametrize("text", ["```", "```python\n", "``` ", "```a", "`", "```\n\n", "``` \t"])
def test_long_texts_of_fences_are_read_in_time(text: str) -> None:
    assert last_code_block(text * LENGTH) in (None, "", "python")
    assert last_code_block(f"```{' ' * LENGTH}{text * LENGTH}\n```\nx\n```") is not None
