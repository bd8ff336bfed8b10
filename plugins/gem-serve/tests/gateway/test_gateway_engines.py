"""Kinds of engines: what is recorded is what each sampled, and each is asked in its own API.

``tests/ci/gateway_engine.sh`` runs this module with the HTTP servers of vLLM and SGLang.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from gem_core.errors import ConfigError
from gem_rollout import training_rows
from gem_serve.gateway.answers import ChatReader
from gem_serve.gateway.engine import EngineClient
from gem_serve.gateway.events import Arguments, ToolStart
from gem_serve.gateway.testing.checks import differences
from gem_serve.gateway.testing.http import post

Start = Callable[..., Any]
EACH = pytest.mark.parametrize("kind", ["vllm", pytest.param("sglang", marks=pytest.mark.slow)])
VLLM = pytest.mark.parametrize("kind", ["vllm"])
SGLANG = pytest.mark.parametrize("kind", ["sglang"])
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
MODES = pytest.mark.parametrize("mode", ["engine", "continue"])
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]
ASK = {"model": "m", "messages": [{"role": "user", "content": "What is 0 + 1 + 2?"}]}


def message_of(answer: Any) -> dict[str, Any]:
    """Return the reply of an answer, or the deltas of a stream put together."""
    if "text/event-stream" not in answer.headers["content-type"]:
        return answer.json["choices"][0]["message"]
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "tool_calls": []}
    for event in answer.events[:-1]:
        for choice in event["choices"]:
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            message["reasoning_content"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", ()):
                if call["index"] == len(message["tool_calls"]):
                    message["tool_calls"].append({**call, "function": {**call["function"]}})
                else:
                    known = message["tool_calls"][call["index"]]["function"]
                    known["arguments"] += call["function"]["arguments"]
    return message


def record_of(gateway: Any, episode: Any) -> Any:
    (record,) = gateway.gateway.episodes[episode.episode].records.calls.values()
    return record


@EACH
@MODES
@STREAM
def test_what_an_engine_samples_for_a_program_with_tools_is_recorded(
    mode: str, *, stream: bool, play: Start
) -> None:
    engine, gateway, episode = play(chunk=3, mode=mode, sampling={"temperature": 0.7, "min_p": 0.1})
    messages = list(ASK["messages"])
    for step in range(3):
        body = {**ASK, "messages": messages, "tools": TOOLS, "stream": stream, "max_tokens": 500}
        message = message_of(post(f"{episode.openai_url}/chat/completions", body))
        assert "known" in message["reasoning_content"] if step == 2 else message["tool_calls"]
        messages.append({"role": "assistant", **message})
        for call in message.get("tool_calls") or ():
            assert call["function"]["arguments"] == f'{{"a": {step}, "b": {step + 1}}}'
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "1"})
    assert message["content"].strip() == "The sum of What is 0 + 1 + 2? is known."
    trajectory = gateway.admin.close(episode.episode, reward=1.0)
    assert differences([trajectory], engine.log) == []
    assert trajectory.reset_info["gateway"]["left_out"] == {}
    if mode == "continue":
        assert len(training_rows(trajectory, one_sequence="split")) == 1
    asked = engine.log[-1].body
    assert (asked["temperature"], asked["min_p"], asked["top_p"]) == (0.7, 0.1, 1.0)
    assert getattr(engine, "unknown", []) == []


@EACH
@STREAM
def test_a_completion_of_token_ids_keeps_them(*, stream: bool, play: Start) -> None:
    engine, gateway, episode = play(script=lambda _: "some words \N{SNOWMAN}")
    for prompt in ("Once upon", [65, 66, 67]):
        body = {"model": "m", "prompt": prompt, "max_tokens": 100, "stream": stream}
        answer = post(f"{episode.openai_url}/completions", body)
        events = answer.events[:-1] if stream else [answer.json]
        texts = [one["text"] for event in events for one in event["choices"]]
        assert "".join(texts) == "some words \N{SNOWMAN}"
    assert engine.log[-1].prompt_ids == [65, 66, 67]
    assert differences([gateway.admin.close(episode.episode)], engine.log) == []


@EACH
@MODES
def test_a_reply_that_was_cut_is_closed_with_the_tokens_of_the_template(
    mode: str, play: Start
) -> None:
    engine, gateway, episode = play(
        script=lambda _: "many words that are cut", mode=mode, sampling={"max_tokens": 2}
    )
    messages = list(ASK["messages"])
    for _ in range(2):
        answer = post(f"{episode.openai_url}/chat/completions", {**ASK, "messages": messages})
        choice = answer.json["choices"][0]
        assert choice["finish_reason"] == "length"
        messages += [choice["message"], {"role": "user", "content": "Go on."}]
    trajectory = gateway.admin.close(episode.episode)
    assert differences([trajectory], engine.log) == []
    end = "<|im_end|>\n<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\n"
    assert engine.tokenizer.decode(engine.log[-1].prompt_ids).endswith(end)


@SGLANG
@STREAM
def test_a_stream_of_a_server_without_parsers_is_inexact(*, stream: bool, play: Start) -> None:
    engine, gateway, episode = play(script=lambda _: "some words", faults=["no-parser"])
    answer = post(f"{episode.openai_url}/chat/completions", {**ASK, "stream": stream})
    assert message_of(answer)["content"] == "some words"
    record = record_of(gateway, episode)
    assert record.exact != stream
    if stream:
        size = len(engine.log[0].ids)
        assert record.problem == f"{size} tokens have {size - 1} log-probabilities"


@EACH
@STREAM
def test_a_reply_that_the_engine_was_told_to_abort_is_partial(*, stream: bool, play: Start) -> None:
    _, gateway, episode = play(script=lambda _: "some words", faults=["abort"])
    url, body = f"{episode.openai_url}/chat/completions", {**ASK, "stream": stream}
    if stream:
        with pytest.raises(ConnectionError, match="broken off"):
            post(url, body)
    else:
        assert post(url, body).status == 502
    record = record_of(gateway, episode)
    assert (record.status, record.finish_reason) == ("partial", None)
    assert gateway.admin.close(episode.episode).turns == []


@EACH
def test_a_refusal_that_comes_in_the_stream_is_a_refusal(play: Start) -> None:
    _, _, episode = play(faults=["late:400", "late:503"])
    url = f"{episode.openai_url}/chat/completions"
    first, second = [post(url, {**ASK, "stream": True}) for _ in range(2)]
    assert (first.status, second.status) == (400, 503)
    assert first.json["error"]["code"] == "context_length_exceeded"


@EACH
@STREAM
def test_a_refusal_of_the_engine_has_its_status_and_message(*, stream: bool, play: Start) -> None:
    _, _, episode = play(context=100, faults=["503"])
    url, body = f"{episode.openai_url}/chat/completions", {**ASK, "stream": stream}
    answer = post(url, body)
    assert (answer.status, answer.json["error"]["message"]) == (503, "Scripted status 503.")
    long = [{"role": "user", "content": "word " * 200}]
    answer = post(url, {**body, "messages": long})
    assert (answer.status, answer.json["error"]["code"]) == (400, "context_length_exceeded")


@pytest.mark.slow
@EACH
@STREAM
def test_an_engine_is_asked_only_for_fields_that_it_has(*, stream: bool, play: Start) -> None:
    engine, gateway, _ = play(script=lambda _: "some words")
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "Work."},
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    choices: list[dict[str, Any]] = [
        {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "add"}}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": SCHEMA},
            }
        },
        {"stop": ["END"], "max_completion_tokens": 50},
    ]
    for mode in ("engine", "continue"):
        episode = gateway.admin.create(mode=mode, sampling={"top_k": 5, "repetition_penalty": 1.1})
        for more in choices:
            body = {**ASK, "messages": messages, "stream": stream, **more}
            assert post(f"{episode.openai_url}/chat/completions", body).status == 200
    assert len(engine.log) == 8
    assert getattr(engine, "unknown", []) == []


@EACH
@MODES
def test_an_engine_is_sent_the_reasoning_of_earlier_replies(mode: str, play: Start) -> None:
    engine, _, episode = play(script=lambda _: "some words", mode=mode)
    reply = {"role": "assistant", "content": "Yes.", "reasoning_content": "It may."}
    messages = [*ASK["messages"], reply, {"role": "user", "content": "Why?"}]
    body = {**ASK, "messages": messages}
    assert post(f"{episode.openai_url}/chat/completions", body).status == 200
    assert "<think>It may.</think>" in engine.tokenizer.decode(engine.log[0].prompt_ids)


@pytest.mark.slow
@EACH
@MODES
def test_programs_of_other_dialects_call_tools(
    mode: str, play: Start, subtests: pytest.Subtests
) -> None:
    engine, gateway, _ = play(chunk=3)
    task = "What is 0 + 1?"
    bodies: dict[str, Any] = {
        "responses": {
            "input": task,
            "tools": [{"type": "function", "name": "add", "parameters": SCHEMA}],
        },
        "messages": {
            "messages": [{"role": "user", "content": task}],
            "tools": [{"name": "add", "input_schema": SCHEMA}],
            "max_tokens": 500,
        },
    }
    for path, stream in product(bodies, (False, True)):
        with subtests.test(path, stream=stream):
            engine.log.clear()
            episode = gateway.admin.create(mode=mode)
            body = {"model": "m", "stream": stream, **bodies[path]}
            answer = post(f"{episode.url}/v1/{path}", body)
            assert answer.status == 200
            assert '"name": "add"' in answer.text.replace('":"', '": "')
            assert "Sum 0 is next." in answer.text or stream
            assert record_of(gateway, episode).finish_reason == "tool_calls"
            trajectory = gateway.admin.close(episode.episode)
            assert differences([trajectory], engine.log) == []
    assert getattr(engine, "unknown", []) == []


@VLLM
@MODES
def test_a_program_may_ask_for_more_tokens_than_the_context(mode: str, play: Start) -> None:
    engine, _, episode = play(script=lambda _: "some words", context=300, mode=mode)
    body = {**ASK, "max_tokens": 32_000}
    assert post(f"{episode.openai_url}/chat/completions", body).status == 200
    assert len(engine.log) == 1


@VLLM
def test_a_prompt_that_fills_the_context_is_told_in_words_that_programs_know(play: Start) -> None:
    _, _, episode = play(context=100)
    for size in (100, 101):
        answer = post(f"{episode.openai_url}/completions", {"model": "m", "prompt": [65] * size})
        assert (answer.status, answer.json["error"]["code"]) == (400, "context_length_exceeded")


@VLLM
def test_a_model_that_the_engine_does_not_serve_is_reported(
    start_engine: Start, start_gateway: Start
) -> None:
    gateway = start_gateway(start_engine().url, engine={"kind": "vllm", "model": "large"})
    episode = gateway.admin.create()
    answer = post(f"{episode.openai_url}/chat/completions", ASK)
    assert answer.status == 404
    assert "The model `large` does not exist." in answer.json["error"]["message"]


def test_an_endpoint_of_openai_is_asked_for_nothing_else(
    start_engine: Start, start_gateway: Start
) -> None:
    engine = start_engine(script=lambda _: "some words")
    gateway = start_gateway(engine.url, engine={"kind": "openai"})
    episode = gateway.admin.create(sampling={"temperature": 0.7, "top_k": 5})
    assert post(f"{episode.openai_url}/chat/completions", ASK).status == 200
    plain = {"temperature", "top_p", "presence_penalty", "frequency_penalty", "seed"}
    assert set(engine.log[0].body) == {"model", "messages", "logprobs", *plain}
    assert engine.log[0].body["temperature"] == 0.7
    assert "no token ids" in record_of(gateway, episode).problem


def test_calls_of_a_whole_answer_are_told_apart_by_their_order() -> None:
    calls = [
        {"index": 3, "id": name, "function": {"name": "add", "arguments": "{}"}} for name in "ab"
    ]
    choice = {"message": {"content": "", "tool_calls": calls}, "finish_reason": "tool_calls"}
    piece = ChatReader(is_stream=False).read({"choices": [choice]})
    assert piece.events[:-1] == [
        ToolStart(0, "a", "add"),
        Arguments(0, "{}"),
        ToolStart(1, "b", "add"),
        Arguments(1, "{}"),
    ]


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"vllm, sglang or openai; got 'sglan'"):
        EngineClient("http://127.0.0.1:1", kind="sglan")
