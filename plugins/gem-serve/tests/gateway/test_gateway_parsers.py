"""The parsers of sampled text."""

import json
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_serve.gateway.events import (
    Arguments,
    Event,
    Finish,
    Reasoning,
    ReplyMessage,
    Text,
    ToolStart,
)
from gem_serve.gateway.parsers import PARSERS, parser_of

V3 = "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>"
V3_CALL = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n{}\n```<｜tool▁call▁end｜>"
V31_CALL = "<｜tool▁call▁begin｜>{}<｜tool▁sep｜>{}<｜tool▁call▁end｜>"

EXAMPLES = settings(max_examples=200 if thorough() else 25)
NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
VALUES = st.dictionaries(
    st.text(max_size=4), st.one_of(st.integers(), st.text(max_size=12), st.none()), max_size=3
)
MARKS = st.sampled_from(
    [
        "<think>", "</think>", "<tool_call>", "</tool_call>", "<|python_tag|>", "{", "}", " ", "\n",
        "<", "<tool", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "; ",
        "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", '{"name": "f", "arguments": {"a": 1}}',
        '{"name": "g", "parameters": {}}', "text", "\N{SNOWMAN}", '"',
    ]
)  # fmt: skip


def events_of(family: str, pieces: Iterable[str], *, thinks: bool = False) -> list[Event]:
    parser = parser_of(family, "x", thinks=thinks)
    return [event for piece in pieces for event in parser.feed(piece)] + parser.end()


def joined(events: Iterable[Event]) -> list[Event]:
    """Return the events with successive pieces of the same kind as one."""
    found: list[Event] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, Text | Reasoning) and type(last) is type(event):
            found[-1] = type(event)(last.text + event.text)
        else:
            found.append(event)
    return found


def message_of(family: str, text: str, *, thinks: bool = False) -> dict:
    reply = ReplyMessage()
    for event in events_of(family, [text], thinks=thinks):
        reply.add(event)
    return reply.message()


def calls_of(message: dict) -> list[tuple[str, dict]]:
    functions = [one["function"] for one in message.get("tool_calls", ())]
    return [(one["name"], json.loads(one["arguments"])) for one in functions]


def split(text: str, cuts: Iterable[int]) -> list[str]:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(places)]


@pytest.mark.slow
@pytest.mark.parametrize("family", PARSERS)
@EXAMPLES
@given(
    parts=st.lists(MARKS | st.text(max_size=5), max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=20),
    thinks=st.booleans(),
)
def test_any_split_of_any_text_gives_the_same_reply(
    family: str, *, parts: list[str], cuts: list[int], thinks: bool
) -> None:
    text = "".join(parts)
    whole = joined(events_of(family, [text], thinks=thinks))
    assert joined(events_of(family, split(text, cuts), thinks=thinks)) == whole
    assert joined(events_of(family, text, thinks=thinks)) == whole


@pytest.mark.slow
@EXAMPLES
@given(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=3), st.text("abc .", max_size=20))
def test_the_calls_of_hermes_are_read(calls: list[tuple[str, dict]], before: str) -> None:
    blocks = [
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': given})}\n</tool_call>"
        for name, given in calls
    ]
    message = message_of("hermes", before + "\n".join(blocks))
    assert calls_of(message) == calls
    assert message["content"] == before.rstrip()


@pytest.mark.slow
@EXAMPLES
@given(calls=st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=3), marked=st.booleans())
def test_the_calls_of_llama_are_read(calls: list[tuple[str, dict]], *, marked: bool) -> None:
    text = "; ".join(json.dumps({"name": name, "parameters": given}) for name, given in calls)
    message = message_of("llama", "<|python_tag|>" * marked + text)
    assert calls_of(message) == calls
    assert message["content"] == ""


@pytest.mark.slow
@pytest.mark.parametrize("form", [V3_CALL, V31_CALL], ids=["V3", "V3.1"])
@EXAMPLES
@given(calls=st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=3))
def test_the_calls_of_deepseek_are_read(form: str, calls: list[tuple[str, dict]]) -> None:
    text = "\n".join(form.format(name, json.dumps(given)) for name, given in calls)
    message = message_of("deepseek", "Let me look." + V3.format(text))
    assert calls_of(message) == calls
    assert message["content"] == "Let me look."


@pytest.mark.parametrize("family", PARSERS)
def test_reasoning_is_set_apart_from_the_text(family: str) -> None:
    message = message_of(family, "<think>\nHm.\n</think>\n\nYes.")
    assert message["reasoning_content"] == "\nHm.\n"
    assert message["content"] == "Yes."


@pytest.mark.parametrize("family", PARSERS)
def test_a_reply_may_begin_within_the_reasoning(family: str) -> None:
    message = message_of(family, "Hm.</think>Yes.", thinks=True)
    assert (message["reasoning_content"], message["content"]) == ("Hm.", "Yes.")


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("hermes", '<tool_call>{"name": "f", "arguments": {</tool_call>'),
        ("hermes", '<tool_call>{"arguments": {}}</tool_call> more'),
        ("hermes", '<tool_call>{"name": "f", "arguments": [1]}</tool_call>'),
        ("hermes", '<tool_call>{"name": "f", "argum'),
        ("llama", '{"name": "f", "parameters": '),
        ("llama", '{"answer": 5}'),
        ("deepseek", V3.format("f")),
        ("deepseek", V3.format(V31_CALL.format("f", "{"))),
    ],
)
def test_a_malformed_call_is_text(family: str, text: str) -> None:
    message = message_of(family, text)
    assert message["content"] == text
    assert "tool_calls" not in message


def test_text_is_passed_on_before_its_end_is_known() -> None:
    parser = parser_of("hermes", "x")
    assert parser.feed("Let me ") == [Text("Let me")]
    assert parser.feed("see. <tool") == [Text(" see.")]
    assert parser.feed("ing") == [Text(" <tooling")]


def test_a_call_is_passed_on_when_it_is_complete() -> None:
    parser = parser_of("hermes", "x")
    assert parser.feed('<tool_call>{"name": "f", "arguments": {}}') == []
    assert parser.feed("</tool_call>") == [ToolStart(0, "call_x_0", "f"), Arguments(0, "{}")]
    assert parser.has_calls is True


def test_an_unknown_family_is_named_with_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"hermes, llama, deepseek\. Did you mean 'hermes'"):
        parser_of("hermse", "x")


def test_a_finish_ends_a_message() -> None:
    reply = ReplyMessage()
    reply.add(Finish("length", 3, 2))
    assert reply.finish.completion_tokens == 2
