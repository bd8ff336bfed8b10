"""The answers of ``EndpointServer``: valid answers of OpenAI's API, and faulty ones.

On request, answers contain ``logprobs``, and token ids in vLLM's format (``return_token_ids``:
``prompt_token_ids`` of the answer, ``token_ids`` of the choice).
"""

import email.utils
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Reply", "answer", "fault_answer", "is_fault", "logprob_of", "page", "render"]

Reply = str | Mapping[str, Any]

_STATUS = re.compile(r"[45]\d\d(:(date|\d+(\.\d+)?))?")
_SLOW = re.compile(r"slow(-body)?(:\d+(\.\d+)?)?")
_OTHERS = {
    "context",
    "cut",
    "cut-body",
    "hang",
    "malformed",
    "html",
    "text",
    "error",
    "no-choices",
    "no-usage",
    "null-content",
    "length",
    "content-filter",
}
_REASONS = {"length": "length", "content-filter": "content_filter"}
_END = "<|end|>"
_HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def is_fault(fault: str) -> bool:
    """Return whether a fault exists; see ``EndpointServer``."""
    return fault in _OTHERS or bool(_STATUS.fullmatch(fault) or _SLOW.fullmatch(fault))


def page(
    content: Any,
    status: int = 200,
    *,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Return an HTTP answer.

    Args:
        content: Bytes, or a value to encode as JSON.
        status: HTTP status.
        content_type: The content type.
        headers: Additional headers.
    """
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = (
        f"HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\n"
        f"content-length: {len(body)}\r\n{more}\r\n"
    )
    return head.encode() + body


def fault_answer(kind: str, parameter: str) -> bytes | None:
    """Return the response of a fault that replaces the answer; None for other faults."""
    if kind.isdigit():
        pause = parameter
        if pause == "date":
            pause = email.utils.formatdate(time.time() + 1, usegmt=True)
        message = {"message": f"Scripted status {kind}.", "type": "scripted", "code": None}
        headers = {"retry-after": pause} if pause else {}
        return page({"error": message}, int(kind), headers=headers)
    if kind == "context":
        message = {
            "message": "This model's maximum context length is 8 tokens.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
        return page({"error": message}, 400)
    if kind == "html":
        return page(_HTML, content_type="text/html")
    if kind == "error":
        return page({"error": {"message": "Scripted error.", "code": 503}})
    return None


def answer(path: str, body: Mapping[str, Any], reply: Reply, model: str, kind: str = "") -> bytes:
    """Return the answer to a request.

    Args:
        path: Path of the request, for chats or for completions.
        body: The request.
        reply: The reply.
        model: Name of the model.
        kind: A fault that modifies the answer.
    """
    if path.endswith("/chat/completions"):
        content = _chat(body, reply, model)
    elif path.endswith("/completions"):
        content = _completion(body, reply, model)
    else:
        return page({"error": {"message": f"{path} does not exist."}}, 404)
    if kind == "malformed":
        text = json.dumps(content).encode()
        return page(text[: len(text) // 2])
    if kind == "no-choices":
        content["choices"] = []
    elif kind == "no-usage":
        del content["usage"]
    elif kind == "null-content" and "message" in content["choices"][0]:
        content["choices"][0]["message"]["content"] = None
    elif kind in _REASONS:
        content["choices"][0]["finish_reason"] = _REASONS[kind]
    return page(content, content_type="text/plain" if kind == "text" else "application/json")


def render(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the prompt of a chat; the prompt of a longer chat extends it and the reply."""
    parts = []
    for message in messages:
        parts += [f"<|{message['role']}|>", _text_of(message), _END]
    return "".join([*parts, "<|assistant|>"])


def logprob_of(token: int) -> float:
    """Return the fictitious log-probability of a token, in nats."""
    return -(token % 16 + 1) / 16


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = json.dumps(content)
    if message.get("reasoning_content"):
        content = f"<think>{message['reasoning_content']}</think>{content}"
    calls = message.get("tool_calls")
    return content + json.dumps(calls) if calls else content


def _chat(body: Mapping[str, Any], reply: Reply, model: str) -> dict[str, Any]:
    message = {"content": reply} if isinstance(reply, str) else dict(reply)
    message = {"role": "assistant", "content": None, **message}
    prompt, said = render(body["messages"]), _text_of(message) + _END
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason}
    if body.get("logprobs"):
        tokens = [
            {
                "token": chr(token),
                "bytes": [token],
                "logprob": logprob_of(token),
                "top_logprobs": [],
            }
            for token in said.encode()
        ]
        choice["logprobs"] = {"content": tokens, "refusal": None}
    content = _content(model, "chat.completion", choice, prompt, said)
    if body.get("return_token_ids"):
        content["prompt_token_ids"] = list(prompt.encode())
        choice["token_ids"] = list(said.encode())
    return content


def _completion(body: Mapping[str, Any], reply: Reply, model: str) -> dict[str, Any]:
    text = reply if isinstance(reply, str) else str(reply.get("content") or "")
    prompt = body["prompt"]
    choice: dict[str, Any] = {"index": 0, "text": text, "finish_reason": "stop"}
    if body.get("logprobs") is not None:
        tokens = list(text.encode())
        choice["logprobs"] = {
            "tokens": [chr(token) for token in tokens],
            "token_logprobs": [logprob_of(token) for token in tokens],
            "top_logprobs": [{} for _ in tokens],
            "text_offset": list(range(len(prompt), len(prompt) + len(tokens))),
        }
    if body.get("return_token_ids"):
        choice["prompt_token_ids"] = list(prompt.encode())
        choice["token_ids"] = list(text.encode())
    return _content(model, "text_completion", choice, prompt, text)


def _content(
    model: str, kind: str, choice: dict[str, Any], prompt: str, said: str
) -> dict[str, Any]:
    given, made = len(prompt.encode()), len(said.encode())
    return {
        "id": "scripted-1",
        "object": kind,
        "created": 0,
        "model": model,
        "system_fingerprint": "fp_scripted",
        "choices": [choice],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": made,
            "total_tokens": given + made,
        },
    }
