"""The forms of a scripted engine's answers: vLLM's and SGLang's.

Both are as these servers send them with parsers for the tool calls of Hermes and for reasoning
between ``<think>`` and ``</think>``.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["FORMS", "Sample", "SglangAnswer", "VllmAnswer"]

_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_THOUGHT = re.compile(r"\A<think>(.*?)</think>\s*", re.DOTALL)


@dataclass
class Sample:
    """What the engine sampled for a request.

    Args:
        prompt_ids: Token ids of the prompt.
        ids: The sampled token ids, with the one that ended the reply.
        logprobs: Their log-probabilities.
        text: The text of the reply.
        body: The request.
        sent: How many of the tokens were sent.
    """

    prompt_ids: list[int]
    ids: list[int]
    logprobs: list[float]
    text: str
    body: dict[str, Any]
    sent: int = 0


class VllmAnswer:
    """The answers of vLLM: whole, and in the pieces of a stream.

    Args:
        tokenizer: The tokenizer.
        sample: What was sampled.
        fault: The fault of the answer; empty for none.
        is_chat: Whether it is a chat's.
    """

    reasoning = "reasoning"
    """The name of the reasoning in a reply."""
    reasoning_sent: tuple[str, ...] = ("reasoning", "reasoning_content")
    """The names of the reasoning in the messages of a chat."""

    def __init__(self, tokenizer: Any, sample: Sample, fault: str, *, is_chat: bool) -> None:
        self.tokenizer, self.sample, self.fault, self.is_chat = tokenizer, sample, fault, is_chat
        self.is_whole = sample.ids[-1:] == [tokenizer.eos_token_id]
        said = sample.ids[:-1] if self.is_whole else sample.ids
        self.text = self._decode(said)
        self.message = self._message(len(sample.prompt_ids)) if is_chat else {}
        self.reason = "stop" if self.is_whole else "length"
        if self.is_whole and self.message.get("tool_calls"):
            self.reason = "tool_calls"
        if fault == "abort":
            self.reason = "abort"
        self._shown = 0

    @staticmethod
    def error(status: int, message: str) -> dict[str, Any]:
        """Return the body of an error."""
        return {"error": {"message": message, "type": "Error", "param": None, "code": status}}

    @staticmethod
    def refused(body: Mapping[str, Any], context: int) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal, given the most tokens, if it is one."""
        if body["model"] != "tiny":
            return 404, f"The model `{body['model']}` does not exist."
        most = body.get("max_tokens") or 0
        if most > context:
            return 400, f"max_tokens={most} cannot be greater than max_model_len={context}."
        return None

    @staticmethod
    def rendered(body: Mapping[str, Any]) -> tuple[list[Any], bool]:
        """Return the messages that ``/tokenize`` renders, and whether a reply begins after them.

        It ignores ``reasoning_content``, which chats may have for ``reasoning``.
        """
        left_out = "reasoning_content"
        messages = [
            {name: one[name] for name in one if name != left_out} for one in body["messages"]
        ]
        return messages, body.get("add_generation_prompt", True)

    def _message(self, number: int) -> dict[str, Any]:
        """Parse the whole reply; the number is that of its calls."""
        text = self.text
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if thought := _THOUGHT.match(text):
            message[self.reasoning] = thought[1]
            text = text[thought.end() :]
        calls = []
        for at, found in enumerate(_CALL.finditer(text)):
            parsed = json.loads(found[1])
            function = {"name": parsed["name"], "arguments": json.dumps(parsed["arguments"])}
            calls.append({"id": f"call_{number}_{at}", "type": "function", "function": function})
        if calls:
            message["tool_calls"] = calls
            text = text[: text.index("<tool_call>")]
        message["content"] = text or None
        return message

    def _decode(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def whole(self) -> dict[str, Any]:
        """Return the whole answer."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": self.reason}
        choice |= {"message": self.message} if self.is_chat else {"text": self.text}
        choice |= self._tokens(0, len(self.sample.ids))
        if self.is_chat:
            return {**self._head(), "choices": [choice], **self._prompt(), **self._usage()}
        choice |= self._prompt()
        return {**self._head(), "choices": [choice], **self._usage()}

    def begin(self) -> list[dict[str, Any]]:
        """Return the events of a stream before those for tokens."""
        if not self.is_chat:
            return []
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return [{**self._head(), "choices": [choice], **self._prompt()}]

    def piece(self, start: int, end: int) -> list[dict[str, Any]]:
        """Return the events for some of the tokens."""
        choice: dict[str, Any] = {"index": 0, "finish_reason": None, **self._tokens(start, end)}
        is_last = end == len(self.sample.ids)
        if self.is_chat:
            choice["delta"] = self._delta(end, is_last=is_last)
        else:
            choice |= {"text": self._new_text(end), **(self._prompt() if start == 0 else {})}
        if is_last:
            choice["finish_reason"] = self.reason
        return [{**self._head(), "choices": [choice]}]

    def _delta(self, end: int, *, is_last: bool) -> dict[str, Any]:
        """Return plain text as it comes, and a message with markup at its end, parsed."""
        if "<" not in self.text:
            return {"content": self._new_text(end)}
        if not is_last:
            return {}
        calls = [{"index": at, **one} for at, one in enumerate(self.message.get("tool_calls", ()))]
        said = {name: one for name, one in self.message.items() if name != "role"}
        return {**said, **({"tool_calls": calls} if calls else {})}

    def _new_text(self, end: int) -> str:
        ids = self.sample.ids[:end]
        text = self._decode(ids[:-1] if self.is_whole and end == len(self.sample.ids) else ids)
        text = text.rstrip("\N{REPLACEMENT CHARACTER}") if end < len(self.sample.ids) else text
        new, self._shown = text[self._shown :], max(self._shown, len(text))
        return new

    def last(self) -> list[dict[str, Any]]:
        """Return the events after the last token."""
        return [{**self._head(), "choices": [], **self._usage()}]

    @property
    def _has_ids(self) -> bool:
        return bool(self.sample.body.get("return_token_ids")) and self.fault != "no-ids"

    def _prompt(self) -> dict[str, Any]:
        return {"prompt_token_ids": self.sample.prompt_ids} if self._has_ids else {}

    def _tokens(self, start: int, end: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._has_ids:
            found["token_ids"] = self.sample.ids[start:end]
        logprobs: list[float] = self.sample.logprobs[start:end]
        if self.fault == "short-logprobs" and start == 0:
            logprobs = logprobs[1:]
        if self.fault == "nan":
            logprobs = [float("nan")] * len(logprobs)
        if self.fault != "no-logprobs" and self.sample.body.get("logprobs") is not None:
            content = [{"token": "", "logprob": one} for one in logprobs]
            tokens = {"tokens": [""] * len(logprobs), "token_logprobs": logprobs}
            found["logprobs"] = {"content": content} if self.is_chat else tokens
        return found

    def _head(self) -> dict[str, Any]:
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {"id": "engine-1", "object": kind, "created": 0, "model": "tiny"}

    def _usage(self) -> dict[str, Any]:
        given, made = len(self.sample.prompt_ids), len(self.sample.ids)
        usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        return {"usage": usage}


class SglangAnswer(VllmAnswer):
    """The answers of SGLang; see ``VllmAnswer``.

    The fault ``no-parser`` is a server without parsers: it leaves out the log-probabilities of a
    stream's tokens that add no text, such as the one that ends the reply.
    """

    reasoning = "reasoning_content"
    reasoning_sent = ("reasoning_content",)

    @staticmethod
    def error(status: int, message: str) -> dict[str, Any]:
        """Return the body of an error."""
        return {
            "object": "error",
            "message": message,
            "type": "BadRequestError",
            "param": None,
            "code": status,
        }

    @staticmethod
    def refused(body: Mapping[str, Any], context: int) -> tuple[int, str] | None:
        """Return the status and the reason of a refusal, given the most tokens, if it is one."""
        most = body.get("max_tokens") or 0
        if most > context:
            said = f"This model supports at most {context} completion tokens."
            return 400, f"max_completion_tokens is too large: {most}.{said}"
        if "messages" in body and body.get("stream") and body.get("return_token_ids"):
            return 400, "return_token_ids is not supported with streaming on /v1/chat/completions."
        return None

    @staticmethod
    def rendered(body: Mapping[str, Any]) -> tuple[list[Any], bool]:
        """Return the messages that ``/tokenize`` renders, and whether a reply begins after them.

        Without ``add_generation_prompt`` a reply at the end is rendered as a user's message.
        """
        messages, prompt = body["messages"], body.get("add_generation_prompt")
        if prompt is None and messages[-1]["role"] == "assistant":
            messages = [*messages[:-1], {"role": "user", "content": messages[-1]["content"]}]
        return messages, prompt is not False

    def whole(self) -> dict[str, Any]:
        """Return the whole answer."""
        answer = super().whole()
        if self.is_chat:
            (choice,) = answer["choices"]
            choice["message"]["content"] = choice["message"]["content"] or ""
            answer |= self._sglext()
        return answer

    def begin(self) -> list[dict[str, Any]]:
        """Return the events of a stream before any token was sampled."""
        return [self._chunk({"role": "assistant", "content": ""})] if self.is_chat else []

    def piece(self, start: int, end: int) -> list[dict[str, Any]]:
        """Return the events for some of the tokens."""
        if not self.is_chat:
            return super().piece(start, end)
        delta = self._delta(end, is_last=end == len(self.sample.ids))
        if self.fault == "no-parser" and not delta.get("content"):
            return []
        return [self._chunk(delta, **self._tokens(start, end))]

    def last(self) -> list[dict[str, Any]]:
        """Return the events after the last token."""
        if not self.is_chat:
            return super().last()
        ids = {**self._head(), "choices": [], "usage": None, **self._sglext()}
        return [self._chunk({}, finish_reason=self.reason), ids, *super().last()]

    def _chunk(self, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **more}
        return {**self._head(), "choices": [choice]}

    def _sglext(self) -> dict[str, Any]:
        body, found = self.sample.body, dict[str, Any]()
        if body.get("return_input_ids_in_sglext"):
            found["input_ids"] = self.sample.prompt_ids
        if body.get("return_output_ids_in_sglext"):
            found["output_ids"] = [self.sample.ids]
        return {"sglext": found} if found and self.fault != "no-ids" else {}


FORMS: Mapping[str, type[VllmAnswer]] = {"vllm": VllmAnswer, "sglang": SglangAnswer}
"""The forms of the kinds of engines."""
