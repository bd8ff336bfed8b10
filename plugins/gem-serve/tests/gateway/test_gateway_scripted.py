"""The scripted engine answers as the engines that ``tests/ci/gateway_engine.sh`` installs."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from gem_serve.gateway.apis import api_of
from gem_serve.gateway.testing.engine import TestEngine
from gem_serve.gateway.testing.http import post

if "GEM_TEST_ENGINE" not in os.environ:
    pytest.skip("tests/ci/gateway_engine.sh installs vLLM or SGLang", allow_module_level=True)

ASK = {"model": "tiny", "messages": [{"role": "user", "content": "Go."}], "logprobs": True}
REPLIED = {**ASK, "messages": [*ASK["messages"], {"role": "assistant", "content": "Yes."}]}
IDS = api_of(os.environ["GEM_TEST_ENGINE"]).chat
COMPLETE = {"model": "tiny", "prompt": [65, 66], "logprobs": 0, "max_tokens": 50}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}


def thought(path: str, name: str) -> tuple[str, dict[str, Any]]:
    """Return a request with a reply that has reasoning."""
    reply = {"role": "assistant", "content": "Yes.", name: "It may."}
    messages = [*ASK["messages"], reply, {"role": "user", "content": "Why?"}]
    return path, {**ASK, **IDS, "messages": messages} if path != "/tokenize" else {
        "messages": messages
    }


REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a chat": ("/v1/chat/completions", {**ASK, **IDS}),
    "a chat in a stream": ("/v1/chat/completions", {**ASK, **IDS, **STREAM}),
    "a chat without ids": ("/v1/chat/completions", ASK),
    "a chat in a stream without ids": ("/v1/chat/completions", {**ASK, **STREAM}),
    "ids in the pieces of a chat": (
        "/v1/chat/completions",
        {**ASK, **STREAM, "return_token_ids": True},
    ),
    "a completion": ("/v1/completions", {**COMPLETE, "return_token_ids": True}),
    "a completion in a stream": (
        "/v1/completions",
        {**COMPLETE, **STREAM, "return_token_ids": True},
    ),
    "a completion without ids": ("/v1/completions", COMPLETE),
    "a completion that is too long": ("/v1/completions", {**COMPLETE, "prompt": [65] * 300}),
    "a model that does not exist": ("/v1/chat/completions", {**ASK, "model": "large"}),
    "more tokens than the context": ("/v1/chat/completions", {**ASK, "max_tokens": 300}),
    "reasoning by its old name": thought("/v1/chat/completions", "reasoning_content"),
    "reasoning by its new name": thought("/v1/chat/completions", "reasoning"),
    "rendered reasoning by its old name": thought("/tokenize", "reasoning_content"),
    "rendered reasoning by its new name": thought("/tokenize", "reasoning"),
    "a rendered chat": ("/tokenize", {"messages": ASK["messages"]}),
    "a rendered reply": ("/tokenize", {"messages": REPLIED["messages"]}),
    "a rendered reply without a prompt": (
        "/tokenize",
        {"messages": REPLIED["messages"], "add_generation_prompt": False},
    ),
    "a rendered reply with a prompt": (
        "/tokenize",
        {"messages": REPLIED["messages"], "add_generation_prompt": True},
    ),
}
EXACT = ("sglext", "tokens", "token_ids", "prompt_token_ids", "usage", "token_logprobs", "logprob")
"""Fields whose values are compared."""


def say(prompt: str) -> str:
    return f"<think>I was asked.</think>\n\nThe question has {len(prompt)} characters."


def fields_of(value: Any, where: str = "") -> set[str]:
    """Return the paths of the fields that are not null."""
    if isinstance(value, list):
        return {path for one in value for path in fields_of(one, f"{where}[]")}
    if isinstance(value, dict):
        return {path for name in value for path in fields_of(value[name], f"{where}.{name}")}
    return set() if value is None else {where}


def values_of(value: Any, name: str = "") -> list[Any]:
    """Return the values of the fields that are compared, in order."""
    if name in EXACT and value is not None and value != [] and not _is_texts(value):
        return [(name, value)]
    if isinstance(value, dict):
        return [one for key in sorted(value) for one in values_of(value[key], key)]
    return [one for each in value for one in values_of(each)] if isinstance(value, list) else []


def _is_texts(value: Any) -> bool:
    """Return whether it is the texts of tokens, which the scripted engine leaves out."""
    return isinstance(value, list) and isinstance(value[0], str)


def numbers_of(found: list[Any]) -> list[Any]:
    """Leave out the details of the numbers of tokens, such as those of the reasoning."""
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return [
        (name, {one: value[one] for one in names} if name == "usage" else value)
        for name, value in found
    ]


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("kind", [os.environ["GEM_TEST_ENGINE"]])
def test_the_scripted_engine_answers_as_the_engine_does(
    name: str, kind: str, gateway_tokenizer: Any, start_engine: Callable[..., Any]
) -> None:
    path, body = REQUESTS[name]
    options = {"chunk": 3, "context": 256}
    engine = start_engine(say, **options)
    assert type(engine) is not TestEngine
    with TestEngine(gateway_tokenizer, say, kind=kind, **options) as scripted:
        ours, theirs = post(scripted.url + path, body), post(engine.url + path, body)
    assert ours.status == theirs.status
    if body.get("stream") and ours.status == 200:
        found, expected = ours.events, theirs.events
        assert found.pop() == expected.pop() == "[DONE]"
    else:
        found, expected = [ours.json], [theirs.json]
    assert fields_of(found) <= fields_of(expected), json.dumps(expected)[:2000]
    assert numbers_of(values_of(found)) == numbers_of(values_of(expected))
