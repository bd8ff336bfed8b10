"""A scripted engine on loopback that speaks vLLM's API, with a real tokenizer.

    with TestEngine(tokenizer, script) as engine:
        ...  # engine.url, engine.log

It renders chats with the tokenizer's template, tokenises its replies, by default into splits that
the tokenizer itself would not choose, as models do, and keeps its own log of what it sampled.
"""

import asyncio
import json
import random
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

__all__ = ["Sample", "Script", "TestEngine", "adding"]

Script = Callable[[str], str]
"""A function from the rendered prompt to the text that the model says, markup included."""

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


@dataclass
class _Faults:
    next: list[str | None] = field(default_factory=list)

    def take(self) -> str:
        return (self.next.pop(0) if self.next else None) or ""


class TestEngine:
    """The engine; it serves within its context, in a thread.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        script: What the model says.
        canonical: Whether replies have the splits that the tokenizer chooses.
        faults: The faults of the next samples in order, None for none: a status (``503``),
            ``cut:N`` (the connection breaks after N tokens), ``no-ids``, ``no-logprobs``,
            ``short-logprobs``, ``nan``, ``hang``.
        seed: Seed of splits and log-probabilities.
        chunk: Tokens in each piece of a stream.
        delay: Seconds before each piece of a stream, or before an answer.
        context: Most tokens of a prompt and its reply.

    Attributes:
        url: The base URL.
        log: The samples so far, in order.
        held: If it is cleared, streams wait after their first piece.
    """

    __test__ = False

    def __init__(
        self,
        tokenizer: Any,
        script: Script,
        *,
        canonical: bool = False,
        faults: Sequence[str | None] = (),
        seed: int = 0,
        chunk: int = 1,
        delay: float = 0.0,
        context: int = 100_000,
    ) -> None:
        self.tokenizer, self.script, self.canonical = tokenizer, script, canonical
        self.faults = _Faults(list(faults))
        self.chunk, self.delay, self.context = chunk, delay, context
        self.log: list[Sample] = []
        self.aborted = 0
        self.url = ""
        self.held = threading.Event()
        self.held.set()
        self._rng = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        self.held.set()
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**28)
        app.add_routes(
            [
                web.get("/v1/models", self._models),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._completions),
                web.post("/tokenize", self._tokenize),
            ]
        )
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=4096)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _models(self, _: web.Request) -> web.Response:
        card = {"id": "tiny", "object": "model", "max_model_len": self.context}
        return web.json_response({"object": "list", "data": [card]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        ids = self._render(body, prompt=body.get("add_generation_prompt", True))
        return web.json_response({"count": len(ids), "max_model_len": self.context, "tokens": ids})

    def _render(self, body: Mapping[str, Any], *, prompt: bool = True) -> list[int]:
        text = self.tokenizer.apply_chat_template(
            [_with_parsed_arguments(one) for one in body["messages"]],
            tools=body.get("tools"),
            tokenize=False,
            add_generation_prompt=prompt,
        )
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return await self._serve(request, body, self._render(body), is_chat=True)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = body["prompt"]
        if isinstance(prompt, str):
            prompt = self.tokenizer.encode(prompt, add_special_tokens=False)
        return await self._serve(request, body, prompt, is_chat=False)

    async def _serve(
        self, request: web.Request, body: dict[str, Any], prompt: list[int], *, is_chat: bool
    ) -> web.StreamResponse:
        fault = self.faults.take()
        if fault.isdigit():
            error = {"error": {"message": f"Scripted status {fault}.", "code": int(fault)}}
            return web.json_response(error, status=int(fault), headers={"Retry-After": "0"})
        if len(prompt) >= self.context:
            said = f"This model's maximum context length is {self.context} tokens."
            return web.json_response({"error": {"message": said, "code": 400}}, status=400)
        sample = self._sample(body, prompt)
        answer = _Answer(self.tokenizer, sample, fault, is_chat=is_chat)
        try:
            if fault == "hang":
                await asyncio.sleep(3600)
            if body.get("stream"):
                return await self._stream(request, answer, fault)
            await asyncio.sleep(self.delay)
            if fault.startswith("cut"):
                _break_off(request)
                return web.Response()
            sample.sent = len(sample.ids)
            return web.json_response(answer.whole())
        except (asyncio.CancelledError, ConnectionError):
            self.aborted += 1
            raise

    def _sample(self, body: dict[str, Any], prompt: list[int]) -> Sample:
        text = self.script(self.tokenizer.decode(prompt))
        ids = [*self._split(text), self.tokenizer.eos_token_id]
        most = min(body.get("max_tokens") or self.context, self.context - len(prompt))
        ids = ids[:most]
        logprobs = [-self._rng.random() for _ in ids]
        sample = Sample(prompt, ids, logprobs, text, body)
        self.log.append(sample)
        return sample

    def _split(self, text: str) -> list[int]:
        """Return token ids of a text; if replies are not canonical, of pieces of the text."""
        if self.canonical:
            ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
            return ids
        found: list[int] = []
        while text:
            size = self._rng.randint(1, 6)
            found += self.tokenizer.encode(text[:size], add_special_tokens=False)
            text = text[size:]
        return found

    async def _stream(
        self, request: web.Request, answer: "_Answer", fault: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        sample = answer.sample
        cut = int(fault.partition(":")[2] or 1) if fault.startswith("cut") else None
        for start in range(0, len(sample.ids), self.chunk):
            end = min(start + self.chunk, len(sample.ids))
            if self.delay:
                await asyncio.sleep(self.delay)
            if cut is not None and start >= cut:
                _break_off(request)
                return response
            if start and not self.held.is_set():
                await asyncio.to_thread(self.held.wait)
            sample.sent = end
            await response.write(_event(answer.piece(start, end)))
        await response.write(_event(answer.last()))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


class _Answer:
    """The forms of a sample: a whole answer, and the pieces of a stream."""

    def __init__(self, tokenizer: Any, sample: Sample, fault: str, *, is_chat: bool) -> None:
        self.tokenizer, self.sample, self.fault, self.is_chat = tokenizer, sample, fault, is_chat
        self.is_whole = sample.ids[-1:] == [tokenizer.eos_token_id]
        said = sample.ids[:-1] if self.is_whole else sample.ids
        self.text = self._decode(said)
        self.message = _message(self.text, len(sample.prompt_ids)) if is_chat else {}
        self.reason = "stop" if self.is_whole else "length"
        if self.is_whole and self.message.get("tool_calls"):
            self.reason = "tool_calls"
        self._shown = 0

    def _decode(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def whole(self) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "finish_reason": self.reason, "stop_reason": None}
        choice |= {"message": self.message} if self.is_chat else {"text": self.text}
        choice |= self._tokens(0, len(self.sample.ids))
        head = {"prompt_token_ids": self.sample.prompt_ids} if self._has_ids else {}
        choice |= {} if self.is_chat else head
        return {
            **self._head(),
            **(head if self.is_chat else {}),
            "choices": [choice],
            **self._usage(),
        }

    def piece(self, start: int, end: int) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "finish_reason": None, **self._tokens(start, end)}
        is_last = end == len(self.sample.ids)
        if self.is_chat:
            choice["delta"] = self._delta(start, end, is_last=is_last)
        else:
            choice["text"] = self._new_text(end)
        head = {"prompt_token_ids": self.sample.prompt_ids} if start == 0 and self._has_ids else {}
        if not self.is_chat:
            choice |= head
        if is_last:
            choice["finish_reason"] = self.reason
        return {**self._head(), **(head if self.is_chat else {}), "choices": [choice]}

    def _delta(self, start: int, end: int, *, is_last: bool) -> dict[str, Any]:
        """Return plain text as it comes, and a message with markup at its end, parsed."""
        delta: dict[str, Any] = {"role": "assistant"} if start == 0 else {}
        if "<" not in self.text:
            return delta | {"content": self._new_text(end)}
        if not is_last:
            return delta
        calls = [{"index": at, **one} for at, one in enumerate(self.message.get("tool_calls", ()))]
        return {**delta, **self.message, **({"tool_calls": calls} if calls else {})}

    def _new_text(self, end: int) -> str:
        ids = self.sample.ids[:end]
        text = self._decode(ids[:-1] if self.is_whole and end == len(self.sample.ids) else ids)
        text = text.rstrip("\N{REPLACEMENT CHARACTER}") if end < len(self.sample.ids) else text
        new, self._shown = text[self._shown :], max(self._shown, len(text))
        return new

    def last(self) -> dict[str, Any]:
        return {**self._head(), "choices": [], **self._usage()}

    @property
    def _has_ids(self) -> bool:
        return bool(self.sample.body.get("return_token_ids")) and self.fault != "no-ids"

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
            found["logprobs"] = (
                {"content": content} if self.is_chat else {"token_logprobs": logprobs}
            )
        return found

    def _head(self) -> dict[str, Any]:
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {"id": "engine-1", "object": kind, "created": 0, "model": "tiny"}

    def _usage(self) -> dict[str, Any]:
        given, made = len(self.sample.prompt_ids), len(self.sample.ids)
        usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        return {"usage": usage}


def _break_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _event(content: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(content).encode() + b"\n\n"


def _message(text: str, number: int) -> dict[str, Any]:
    """Parse a whole reply as vLLM's parser for Hermes does."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if thought := _THOUGHT.match(text):
        message["reasoning_content"] = thought[1]
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


def _with_parsed_arguments(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {
            **one,
            "function": {**one["function"], "arguments": json.loads(one["function"]["arguments"])},
        }
        for one in message.get("tool_calls") or ()
    ]
    return {**message, **({"tool_calls": calls} if calls else {})}


def adding(prompt: str) -> str:
    """Play a model that calls the tool ``add`` for each plus sign of the task, then answers."""
    task = prompt.rpartition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]
    after = prompt.rpartition("<|im_start|>user\n")[2]
    done = after.count("<|im_start|>tool")
    if done >= task.count("+"):
        return f"<think>All {done} sums are known.</think>\n\nThe sum of {task.strip()} is known."
    call = json.dumps({"name": "add", "arguments": {"a": done, "b": done + 1}})
    return f"<think>Sum {done} is next.</think>\n\nSum {done}:\n<tool_call>\n{call}\n</tool_call>"
