"""The scripted engine answers as SGLang does; ``tests/ci/gateway_sglang.sh`` installs SGLang."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from gem_serve.gateway.testing.engine import TestEngine
from gem_serve.gateway.testing.http import post

if "GEM_TEST_SGLANG" not in os.environ:
    pytest.skip("tests/ci/gateway_sglang.sh installs SGLang", allow_module_level=True)

ASK = {"model": "tiny", "messages": [{"role": "user", "content": "Go."}], "logprobs": True}
REPLIED = {**ASK, "messages": [*ASK["messages"], {"role": "assistant", "content": "Yes."}]}
IDS = {"return_input_ids_in_sglext": True, "return_output_ids_in_sglext": True}
COMPLETE = {"model": "tiny", "prompt": [65, 66], "logprobs": 0, "max_tokens": 50}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}
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
    if name in EXACT and value is not None:
        return [(name, value)]
    if isinstance(value, dict):
        return [one for key in sorted(value) for one in values_of(value[key], key)]
    return [one for each in value for one in values_of(each)] if isinstance(value, list) else []


def without_zeros(found: list[Any]) -> list[Any]:
    """Leave out what is null or 0 in the numbers of tokens, such as those of the reasoning."""
    return [
        (name, {key: one for key, one in value.items() if one} if name == "usage" else value)
        for name, value in found
    ]


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("kind", ["sglang"])
def test_the_scripted_engine_answers_as_sglang_does(
    name: str, gateway_tokenizer: Any, start_engine: Callable[..., Any]
) -> None:
    path, body = REQUESTS[name]
    options = {"chunk": 3, "context": 256}
    sglang = start_engine(say, **options)
    assert type(sglang) is not TestEngine
    with TestEngine(gateway_tokenizer, say, kind="sglang", **options) as scripted:
        ours, theirs = post(scripted.url + path, body), post(sglang.url + path, body)
    assert ours.status == theirs.status
    if body.get("stream") and ours.status == 200:
        found, expected = ours.events, theirs.events
        assert found.pop() == expected.pop() == "[DONE]"
    else:
        found, expected = [ours.json], [theirs.json]
    assert fields_of(found) <= fields_of(expected), json.dumps(expected)[:2000]
    assert without_zeros(values_of(found)) == without_zeros(values_of(expected))
