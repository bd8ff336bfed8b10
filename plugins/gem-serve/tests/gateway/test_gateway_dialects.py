"""The dialects: what programs are told, whole and in streams."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_serve.gateway.dialects import Dialect, Writer, make_dialects, openai_error
from gem_serve.gateway.dialects.checks import check_dialect
from gem_serve.gateway.events import (
    Arguments,
    Ask,
    CallError,
    Event,
    Finish,
    Reasoning,
    Text,
    ToolStart,
)
from gem_serve.gateway.serving import GatewayThread
from gem_serve.gateway.testing.engine import TestEngine, adding
from gem_serve.gateway.testing.http import post
from gem_serve.specs import DIALECTS as DIALECT

DIALECTS = make_dialects()

EXAMPLES = settings(max_examples=200 if thorough() else 25)
TEXTS = st.text(min_size=1, max_size=8)
PIECES = st.lists(TEXTS.map(Text) | TEXTS.map(Reasoning), max_size=4)
CALLS = st.lists(st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), max_size=3)
EACH = pytest.mark.parametrize("kind", ["vllm", pytest.param("sglang", marks=pytest.mark.slow)])
REASONS = {"stop", "length", "tool_calls"}


@st.composite
def replies(draw: Any) -> list[Event]:
    """Reasoning and text in any order, then calls in pieces, then the end."""
    events: list[Event] = list(draw(PIECES))
    for number, given_ in enumerate(draw(CALLS)):
        text = json.dumps(given_)
        cut = draw(st.integers(0, len(text)))
        events.append(ToolStart(number, f"call_{number}", f"tool{number}"))
        events += [Arguments(number, one) for one in (text[:cut], text[cut:]) if one]
    return [*events, Finish(draw(st.sampled_from(sorted(REASONS))), 7, 5)]


def streamed(path: str, events: list[Event], **fields: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the data of the stream's events, and the whole answer."""
    writer = DIALECTS[path].writer(Ask(model="m", dialect={"usage": True, **fields}), "1")
    text = b"".join(writer.feed(event) for event in events).decode()
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    return [one if one == "[DONE]" else json.loads(one) for one in data], writer.answer()


def joined(events: list[Event], kind: type) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


@pytest.mark.slow
@EXAMPLES
@given(replies())
def test_a_stream_of_chat_adds_up_to_the_whole_answer(events: list[Event]) -> None:
    chunks, answer = streamed("chat/completions", events)
    assert chunks.pop() == "[DONE]"
    usage = chunks.pop()["usage"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    message = answer["choices"][0]["message"]
    assert "".join(one.get("content") or "" for one in deltas) == (message["content"] or "")
    reasoning = "".join(one.get("reasoning_content") or "" for one in deltas)
    assert reasoning == message.get("reasoning_content", "")
    calls: dict[int, str] = {}
    for call in (call for one in deltas for call in one.get("tool_calls", ())):
        calls.setdefault(call["index"], "")
        calls[call["index"]] += call["function"]["arguments"]
    found = [one["function"]["arguments"] for one in message.get("tool_calls", ())]
    assert list(calls.values()) == found
    assert chunks[-1]["choices"][0]["finish_reason"] == answer["choices"][0]["finish_reason"]
    assert (
        usage
        == answer["usage"]
        == {
            "prompt_tokens": 7,
            "completion_tokens": 5,
            "total_tokens": 12,
        }
    )


@pytest.mark.slow
@EXAMPLES
@given(replies())
def test_a_stream_of_responses_adds_up_to_its_last_event(events: list[Event]) -> None:
    data, answer = streamed("responses", events)
    assert [one["sequence_number"] for one in data] == list(range(len(data)))
    assert data[-1]["response"] == answer
    added = [one for one in data if one["type"] == "response.output_item.added"]
    done = [one["item"] for one in data if one["type"] == "response.output_item.done"]
    assert len(added) == len(done)
    assert done == answer["output"]
    texts = [part["text"] for one in done if one["type"] == "message" for part in one["content"]]
    assert "".join(texts) == joined(events, Text)
    arguments = [one["arguments"] for one in done if one["type"] == "function_call"]
    assert "".join(arguments) == joined(events, Arguments)


@pytest.mark.slow
@EXAMPLES
@given(replies())
def test_a_stream_of_messages_adds_up_to_the_whole_answer(events: list[Event]) -> None:
    data, answer = streamed("messages", events)
    assert [data[0]["type"], data[-1]["type"]] == ["message_start", "message_stop"]
    blocks: list[dict[str, Any]] = []
    for one in data:
        if one["type"] == "content_block_start":
            assert one["index"] == len(blocks)
            blocks.append({"kind": one["content_block"]["type"], "text": ""})
        elif one["type"] == "content_block_delta":
            assert one["index"] == len(blocks) - 1
            delta = one["delta"]
            names = ("text", "thinking", "partial_json")
            blocks[-1]["text"] += "".join(delta.get(name, "") for name in names)
    for kind, event in (("text", Text), ("thinking", Reasoning), ("tool_use", Arguments)):
        found = "".join(one["text"] for one in blocks if one["kind"] == kind)
        assert found == joined(events, event)
    inputs = [one["input"] for one in answer["content"] if one["type"] == "tool_use"]
    assert inputs == [json.loads(one["text"]) for one in blocks if one["kind"] == "tool_use"]
    assert data[-2]["delta"]["stop_reason"] == answer["stop_reason"]


def test_custom_tools_of_responses_are_functions_for_the_model() -> None:
    dialect = DIALECTS["responses"]
    tool = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}
    ask = dialect.parse({"input": "Go.", "tools": [tool, {"type": "web_search"}]})
    (function,) = [one["function"] for one in ask.tools]
    assert function["parameters"]["required"] == ["input"]
    assert ask.changes == ["the tool web_search was left out: it runs at a provider"]
    writer = dialect.writer(ask, "1")
    writer.feed(ToolStart(0, "call_0", "apply_patch"))
    writer.feed(Arguments(0, '{"input": "*** Begin'))
    writer.feed(Arguments(0, ' Patch"}'))
    writer.feed(Finish("tool_calls", 1, 1))
    (item,) = writer.answer()["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin Patch")
    result = {"type": "custom_tool_call_output", "call_id": "call_0", "output": "Done."}
    again = dialect.parse({"input": [item, result]})
    (call,) = again.messages[0]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"input": "*** Begin Patch"}
    assert again.messages[1] == {"role": "tool", "tool_call_id": "call_0", "content": "Done."}


def test_items_of_one_reply_are_one_message() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    items = [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "H"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        call,
        {**call, "call_id": "d"},
    ]
    ask = DIALECTS["responses"].parse({"instructions": "Work.", "input": items})
    assert [one["role"] for one in ask.messages] == ["system", "user", "assistant"]
    reply = ask.messages[-1]
    assert (reply["content"], reply["reasoning_content"]) == ("Yes.", "H")
    assert [one["id"] for one in reply["tool_calls"]] == ["c", "d"]


def test_results_of_tools_come_before_the_text_that_follows_them() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}]},
        {"type": "tool_result", "tool_use_id": "b", "content": "2"},
        {"type": "text", "text": "Go on."},
    ]
    ask = DIALECTS["messages"].parse({"messages": [{"role": "user", "content": content}]})
    assert ask.messages == [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize("path", DIALECTS)
def test_an_error_has_the_form_of_its_dialect(path: str) -> None:
    body = DIALECTS[path].error(CallError(400, "n: too many.", field="n"))
    assert body["error"]["message"] == "n: too many."
    assert body["error"]["type"] == "invalid_request_error"


@EACH
def test_a_response_may_continue_an_earlier_one_by_its_id(play: Callable[..., Any]) -> None:
    engine, gateway, episode = play(script=lambda _: "Yes.", mode="continue")
    url = f"{episode.openai_url}/responses"
    first = post(url, {"model": "m", "instructions": "Work.", "input": "One."}).json
    more = {"model": "m", "instructions": "Work.", "input": "Two."}
    assert post(url, {**more, "previous_response_id": first["id"]}).status == 200
    text = engine.tokenizer.decode(engine.log[-1].prompt_ids)
    assert [one in text for one in ("Work.", "One.", "Yes.", "Two.")] == [True] * 4
    assert len(gateway.admin.close(episode.episode).tokens()) == 1


@EACH
def test_a_completion_is_recorded_with_its_prompt(play: Callable[..., Any]) -> None:
    engine, gateway, episode = play(script=lambda _: "some words")
    url = f"{episode.openai_url}/completions"
    answer = post(url, {"model": "m", "prompt": "Once upon"}).json
    assert answer["choices"][0]["text"] == "some words"
    ids = [*engine.log[0].prompt_ids, *engine.log[0].ids]
    post(url, {"model": "m", "prompt": [*ids, 65], "stream": True})
    trajectory = gateway.admin.close(episode.episode)
    (sequence,) = trajectory.tokens()
    assert sum(sequence.mask) == sum(len(one.ids) for one in engine.log)


@EACH
def test_tokens_of_a_message_are_counted_without_a_call(play: Callable[..., Any]) -> None:
    engine, _, episode = play()
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
    counted = post(f"{episode.url}/v1/messages/count_tokens", body).json["input_tokens"]
    post(f"{episode.url}/v1/messages", {**body, "max_tokens": 100})
    assert counted == len(engine.log[0].prompt_ids)
    assert len(engine.log) == 1


class Plain(Dialect):
    """Takes and gives one text."""

    name = "plain"

    def parse(self, body):
        if not isinstance(body.get("ask"), str):
            raise CallError(400, "ask: expected a text.", field="ask")
        return Ask(messages=[{"role": "user", "content": body["ask"]}])

    def writer(self, ask, call_id):
        return PlainWriter(ask)

    def error(self, error):
        return openai_error(error)


class PlainWriter(Writer):
    """Gives the text at the end."""

    def feed(self, event):
        self.reply.add(event)
        return b""

    def answer(self):
        return {"said": self.reply.message()["content"]}


class Mute(Plain):
    """Says nothing about errors."""

    def error(self, error):
        return {}


def test_a_plugin_adds_a_dialect_whose_calls_are_recorded(plugins_in):
    plugins_in()
    default_registry().add(
        Spec(kind=DIALECT, id="plain", entry_point=Plain, description="texts"),
        Spec(kind=DIALECT, id="mute", entry_point=Mute, description="texts"),
    )
    with TestEngine(make_tiny_tokenizer(), adding) as engine, GatewayThread(engine.url) as gateway:
        episode = gateway.admin.create()
        answer = post(f"{episode.openai_url}/plain", {"ask": "Seven"})
        assert answer.json == {"said": "The sum of Seven is known."}
        refused = post(f"{episode.openai_url}/plain", {"ask": 7})
        assert (refused.status, refused.json["error"]["param"]) == (400, "ask")
        unknown = post(f"{episode.openai_url}/plane", {"ask": "Seven"})
        assert "/v1/plain" in unknown.json["error"]["message"]
        trajectory = gateway.admin.close(episode.episode, reward=1.0)
    (turn,) = trajectory.turns
    assert "The sum of Seven is known." in str(turn.action)
    assert check_dialect("plain").ok
    (finding,) = check_dialect("mute").findings
    assert "the body of an error must have its message" in finding.message


@pytest.mark.parametrize("path", DIALECTS)
def test_our_dialects_keep_the_contract(path):
    check_dialect(path).raise_for_findings()
