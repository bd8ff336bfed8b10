"""What a reply says: thoughts at its beginning go, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_core.thoughts import OPENED_THOUGHT, after_thoughts, spoken, with_opened_thought

CALL = '<tool_call>{"name": "f"}</tool_call>'


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("4", "4"),
        ("<think>3?</think>4", "4"),
        ("\n <think>\n3?\n</think>\n\n4", "\n\n4"),
        ("<think></think><think>3</think>4", "4"),
        ("3?</think>4", "4"),
        (f"maybe {CALL} no</think> 4", " 4"),
        ("3</think>5</think>4", "4"),
        ("<think>a <think> b</think> c</think>4", "4"),
        ("<think>3?", ""),
        ("<think>3</think><think>4", ""),
        ("x = '<think>'", "x = '<think>'"),
        ("4 <think>5</think> 6", "4 <think>5</think> 6"),
        ("4 <think>5", "4 <think>5"),
        ("<think>```\n3\n```</think>```\n4\n```", "```\n4\n```"),
        ("```python\nprint('</think>')\n```\n", "```python\nprint('</think>')\n```\n"),
        ("~~~~\n~~~\n</think>\n~~~~\n", "~~~~\n~~~\n</think>\n~~~~\n"),
        ("```python\n3 </think> 4", " 4"),
        ("```\na\n```\nb</think>```\nc\n```", "```\nc\n```"),
        ("<THINK>3</THINK>4", "<THINK>3</THINK>4"),
    ],
)
def test_thoughts_go_and_nothing_else(reply: str, said: str) -> None:
    assert spoken(reply) == said


@pytest.mark.parametrize("prompt", [OPENED_THOUGHT, "<|assistant|>\n<think>\n"])
def test_a_reply_whose_prompt_has_opened_the_thought_begins_in_it(prompt: str) -> None:
    assert spoken(with_opened_thought("3?</think>4", prompt)) == "4"
    assert spoken(with_opened_thought("```\n</think>\n```", prompt)) == "\n```"
    assert spoken(with_opened_thought("no end", prompt)) == ""
    assert spoken(with_opened_thought("<think>a</think>4", prompt)) == "4"


@pytest.mark.parametrize("prompt", ["", "<think> or not?", "<think>\n\n</think>\n\n"])
def test_a_reply_whose_prompt_has_opened_no_thought_stays(prompt: str) -> None:
    assert with_opened_thought("4", prompt) == "4"


parts = st.sampled_from(["<think>", "</think>", "```\n", "\n```\n", "~~~", "a", " ", "\n", "4"])
replies = st.lists(parts).map("".join)


@given(replies, replies)
def test_a_thought_that_is_put_before_a_reply_changes_nothing(thought: str, reply: str) -> None:
    thought = thought.replace("<", "").replace(">", "")
    assert spoken(f"<think>{thought}</think>{reply}") == spoken(reply)
    opened = with_opened_thought(f"{thought}</think>{reply}", OPENED_THOUGHT)
    assert spoken(opened) == spoken(reply)


@given(replies)
def test_what_is_said_is_the_end_of_the_reply_and_says_the_same(reply: str) -> None:
    said = spoken(reply)
    assert reply.endswith(said)
    assert len(reply) - len(said) == after_thoughts(reply)
    assert spoken(said) == said
