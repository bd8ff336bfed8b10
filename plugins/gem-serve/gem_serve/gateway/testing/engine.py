"""A scripted engine on loopback that speaks vLLM's or SGLang's API, with a real tokenizer.

    with TestEngine(tokenizer, script) as engine:
        ...  # engine.url, engine.log

It renders chats with the tokenizer's template, tokenises its replies, by default into splits that
the tokenizer itself would not choose, as models do, and keeps its own log of what it sampled.
"""

import asyncio
import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from gem_serve.gateway.serving import serve_in_thread
from gem_serve.gateway.testing.answers import FORMS, Sample, VllmAnswer

__all__ = ["Script", "TestEngine", "adding"]

Script = Callable[[str], str]
"""A function from the rendered prompt to the text that the model says, markup included."""


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
        kind: The API: ``vllm`` or ``sglang``.
        canonical: Whether replies have the splits that the tokenizer chooses.
        faults: The faults of the next samples in order, None for none: a status (``503``),
            ``cut:N`` (the connection breaks after N tokens), ``late:503`` (a stream begins, and its
            first event is the error), ``abort``, ``no-ids``, ``no-logprobs``, ``short-logprobs``,
            ``nan``, ``hang``, and those of the API's form.
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
        kind: str = "vllm",
        canonical: bool = False,
        faults: Sequence[str | None] = (),
        seed: int = 0,
        chunk: int = 1,
        delay: float = 0.0,
        context: int = 100_000,
    ) -> None:
        self.tokenizer, self.script, self.canonical = tokenizer, script, canonical
        self._form = FORMS[kind]
        self.faults = _Faults(list(faults))
        self.chunk, self.delay, self.context = chunk, delay, context
        self.log: list[Sample] = []
        self.aborted = 0
        self.url = ""
        self.held = threading.Event()
        self.held.set()
        self._rng = random.Random(seed)

    def __enter__(self) -> Self:
        self._loop = serve_in_thread("engines", self._start, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        self.held.set()
        self._loop.close()

    async def _stop(self) -> None:
        await self._runner.cleanup()

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
        messages, prompt = self._form.rendered(body)
        ids = self._render({**body, "messages": messages}, prompt=prompt)
        return web.json_response({"count": len(ids), "max_model_len": self.context, "tokens": ids})

    def _render(self, body: Mapping[str, Any], *, prompt: bool = True) -> list[int]:
        text = self.tokenizer.apply_chat_template(
            [_for_template(one, self._form.reasoning_sent) for one in body["messages"]],
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
        refusal = self._form.refused(body, self.context)
        if refusal is not None:
            return self._refuse(*refusal)
        fault = self.faults.take()
        if fault.isdigit():
            return self._refuse(int(fault), f"Scripted status {fault}.", **{"Retry-After": "0"})
        if len(prompt) >= self.context:
            return self._refuse(400, f"The model's context length is {self.context} tokens.")
        sample = self._sample(body, prompt)
        answer = self._form(self.tokenizer, sample, fault, is_chat=is_chat)
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

    def _refuse(self, status: int, message: str, **headers: str) -> web.Response:
        body = self._form.error(status, message)
        return web.json_response(body, status=status, headers=headers)

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
        self, request: web.Request, answer: VllmAnswer, fault: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        sample = answer.sample
        if fault.startswith("late"):
            error = VllmAnswer.error(int(fault[5:]), "The prompt has more than the maximum length.")
            await response.write(_event(error))
            return response
        await self._write(response, answer.begin())
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
            await self._write(response, answer.piece(start, end))
        await self._write(response, answer.last())
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _write(self, response: web.StreamResponse, events: list[dict[str, Any]]) -> None:
        for one in events:
            await response.write(_event(one))


def _break_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _event(content: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(content).encode() + b"\n\n"


def _for_template(message: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a message as templates take it; the reasoning has one of the names."""
    reasoning = next((message[name] for name in names if message.get(name)), None)
    calls = [
        {
            **one,
            "function": {**one["function"], "arguments": json.loads(one["function"]["arguments"])},
        }
        for one in message.get("tool_calls") or ()
    ]
    rest = {name: message[name] for name in message if not name.startswith("reasoning")}
    return {
        **rest,
        **({"reasoning_content": reasoning} if reasoning else {}),
        **({"tool_calls": calls} if calls else {}),
    }


def adding(prompt: str) -> str:
    """Play a model that calls the tool ``add`` for each plus sign of the task, then answers."""
    task = prompt.rpartition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]
    after = prompt.rpartition("<|im_start|>user\n")[2]
    done = after.count("<|im_start|>tool")
    if done >= task.count("+"):
        return f"<think>All {done} sums are known.</think>\n\nThe sum of {task.strip()} is known."
    call = json.dumps({"name": "add", "arguments": {"a": done, "b": done + 1}})
    return f"<think>Sum {done} is next.</think>\n\nSum {done}:\n<tool_call>\n{call}\n</tool_call>"
