"""What a box holds, without what only formats it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_core.boxes import unwrapped


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        *((r"\text{2}", "2"), (r"\mathrm{ yes }", "yes"), ("{2}", "2"), ("{{2}}", "2")),
        *(
            ("$2$", "2"),
            ("$$2$$", "2"),
            (r"\(2\)", "2"),
            ("2.", "2"),
            ("1.5.", "1.5"),
            (r"{$\textbf{2}$}.", "2"),
        ),
        *(
            (r"\text {apple}", "apple"),
            (r"\operatorname*{x}", "x"),
            (r"\text{It is so.}", "It is so."),
        ),
    ],
)
def test_formatting_of_all_of_it_goes(content: str, answer: str) -> None:
    assert unwrapped(content) == answer


@pytest.mark.parametrize(
    "content",
    [
        *(
            '{"a": 1}',
            "{1, 2}",
            "{a}{b}",
            r"\text{a} b",
            r"\frac{1}{2}",
            "It is so.",
            "...",
            "U.S.",
            "$",
        ),
        *(r"\text{", "$1$ or $2$", "1.5", "[[1, 2], [3, 4]]", "", ".", "{}", "a\nb."),
    ],
)
def test_an_answer_stays_as_it_is(content: str) -> None:
    assert unwrapped(content) == content


def test_many_layers_take_little_time() -> None:
    assert "2" in unwrapped("{" * 4000 + "2" + "}" * 4000)


@given(st.text(alphabet="{}$\\().text 2", max_size=20))
def test_something_is_left_of_any_content(content: str) -> None:
    assert bool(unwrapped(content)) == bool(content.strip())
