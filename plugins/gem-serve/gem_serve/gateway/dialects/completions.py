"""OpenAI's completions: text in, text out, without a chat template.

The format is that of https://platform.openai.com/docs/api-reference/completions.
"""

import time
from collections.abc import Mapping
from typing import Any

from gem_serve.gateway.dialects.base import Dialect, Writer, encode, openai_error
from gem_serve.gateway.dialects.fields import check_single, refuse, stops_of, value_of, whole_of
from gem_serve.gateway.events import Ask, CallError, Event, Finish, Text

__all__ = ["CompletionsDialect"]


class CompletionsDialect(Dialect):
    """Requests and answers of ``/v1/completions``."""

    name = "completions"

    def parse(self, body: Mapping[str, Any]) -> Ask:
        check_single(body, "n", "best_of")
        if body.get("echo") or body.get("suffix"):
            raise refuse("echo" if body.get("echo") else "suffix", "it is not supported.")
        prompt = _prompt(body.get("prompt"))
        shown = prompt if isinstance(prompt, str) else ""
        options = value_of(body, "stream_options", dict, {})
        return Ask(
            model=value_of(body, "model", str, ""),
            messages=[{"role": "prompt", "content": shown}],
            prompt=prompt,
            stream=value_of(body, "stream", bool, False),
            max_tokens=whole_of(body, "max_tokens"),
            stop=stops_of(body, "stop"),
            dialect={"usage": bool(options.get("include_usage"))},
        )

    def writer(self, ask: Ask, call_id: str) -> Writer:
        return _CompletionsWriter(ask, call_id)

    def error(self, error: CallError) -> dict[str, Any]:
        return openai_error(error)


def _prompt(given: Any) -> str | list[int]:
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str | list):
        given = given[0]
    if isinstance(given, str) and given:
        return given
    if isinstance(given, list) and given and all(type(one) is int for one in given):
        return given
    raise refuse("prompt", "expected one text, or the token ids of one text.")


class _CompletionsWriter(Writer):
    def __init__(self, ask: Ask, call_id: str) -> None:
        super().__init__(ask)
        self._head = {
            "id": f"cmpl-{call_id}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": ask.model,
        }

    def feed(self, event: Event) -> bytes:
        self.reply.add(event)
        if isinstance(event, Text):
            return encode({**self._head, "choices": [_choice(event.text, None)]})
        if not isinstance(event, Finish):
            return b""
        end = encode({**self._head, "choices": [_choice("", event.reason)]})
        if self.ask.dialect.get("usage"):
            end += encode({**self._head, "choices": [], "usage": _usage(event)})
        return end + b"data: [DONE]\n\n"

    def answer(self) -> dict[str, Any]:
        text, finish = self.reply.message()["content"], self.reply.finish
        return {**self._head, "choices": [_choice(text, finish.reason)], "usage": _usage(finish)}


def _choice(text: str, reason: str | None) -> dict[str, Any]:
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}


def _usage(finish: Finish) -> dict[str, Any]:
    return {
        "prompt_tokens": finish.prompt_tokens,
        "completion_tokens": finish.completion_tokens,
        "total_tokens": finish.prompt_tokens + finish.completion_tokens,
    }
