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
    text = "First\n```{0}\nx = 1\n```\nno, rather\n```{0}\nx = 2\n```\nas `x` is better."
    assert last_code_block(text.format("python")) == last_code_block(text.format("")) == "x = 2"


@pytest.mark.parametrize("language", ["", "text", "output", "bash"])
@pytest.mark.parametrize("python", ["python", "Python3", "py", "python3.11"])
def test_the_last_block_of_python_counts_before_any_other(python: str, language: str) -> None:
    text = f"```{language}\n1\n```\n```{python}\nprint(3)\n```\nOutput:\n```{language}\n3\n```\n"
    assert last_code_block(text) == "print(3)"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nx = '''```'''\nprint(x)\n```", "x = '''```'''\nprint(x)"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''"),
        ('~~~python title="a.py"\nprint(3)\n~~~', "print(3)"),
        ('```python title="a.py"\nprint(3)\n```', "print(3)"),
        ("```{.python .numbered}\nprint(3)\n```", "print(3)"),
        ("```python\nprint(1)\n```python\nprint(2)\n```", "print(2)"),
        ("Say ```python\nprint(3)\n```", "print(3)"),
        ("a ~~~ b\n```\nprint(3)\n```", "print(3)"),
        ("```python\nprint(3)``` is it", None),
    ],
)
def test_what_opens_and_closes_a_block(text: str, code: str | None) -> None:
    assert last_code_block(text) == code


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
        ("```two words\nx = 1\n```", "x = 1"),
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
