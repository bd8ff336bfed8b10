"""Endpoints that answer with too much, or with what cannot be."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from gem_agents.client import Client
from gem_agents.errors import EndpointError, MalformedReplyError, ReplyTooLargeError
from gem_agents.replies import Answer, read_chat, read_completion

MIB = 1 << 20


@asynccontextmanager
async def endpoint(handle: Callable[[web.Request], Any]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def ask(handle: Callable[[web.Request], Any], **options: Any) -> Answer:
    async def main() -> Answer:
        async with endpoint(handle) as url:
            limits = {"timeout": 60, "max_attempts": 1, "max_seconds": 0, "max_in_flight": 4}
            client = Client(url, None, **{**limits, **options})
            try:
                return (await client.post("chat/completions", b"{}", read_chat))[0]
            finally:
                client.close()

    return asyncio.run(main())


def answering(body: bytes, status: int = 200, **headers: str) -> Callable[[web.Request], Any]:
    async def handle(request: web.Request) -> web.Response:
        headers.setdefault("Content-Type", "application/json")
        return web.Response(body=body, status=status, headers=headers)

    return handle


class TestSize:
    @pytest.mark.slow
    def test_an_endless_answer_is_not_read_to_its_end(self) -> None:
        sent = 0

        async def flood(request: web.Request) -> web.StreamResponse:
            nonlocal sent
            response = web.StreamResponse()
            await response.prepare(request)
            for _ in range(400):
                await response.write(b" " * MIB)
                sent += 1
            return response

        with pytest.raises(ReplyTooLargeError, match=r"/v1/chat/completions is larger than 67,108"):
            ask(flood)
        assert sent < 200

    @pytest.mark.slow
    def test_a_compressed_answer_is_not_unpacked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gem_agents.client._LARGEST_ANSWER", 2 * MIB)
        bomb = gzip.compress(b" " * (10 * MIB), 9)
        with pytest.raises(ReplyTooLargeError):
            ask(answering(bomb, **{"Content-Encoding": "gzip"}))

    def test_the_answer_of_an_error_is_cut_off(self) -> None:
        with pytest.raises(EndpointError) as caught:
            ask(answering(b"x" * (10 * MIB), 400))
        assert caught.value.status == 400
        assert len(str(caught.value)) < 1000

    @pytest.mark.slow
    def test_an_answer_of_some_megabytes_is_read(self) -> None:
        text = "x" * (5 * MIB)
        answer = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        assert ask(answering(json.dumps(answer).encode())).message["content"] == text

    @pytest.mark.slow
    def test_an_answer_that_drips_meets_the_time_limit(self) -> None:
        async def drip(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.05)

        with pytest.raises(TimeoutError, match=r"did not answer within 0\.2 s"):
            ask(drip, timeout=0.2)

    @pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
    def test_an_answer_of_thousands_of_brackets_is_malformed(self, bracket: bytes) -> None:
        with pytest.raises(MalformedReplyError):
            ask(answering(bracket * 100_000))


def completion(logprobs: list[Any], tokens: list[str] | None = None, ids: Any = None) -> Any:
    tokens = ["a"] * len(logprobs) if tokens is None else tokens
    part = {"tokens": tokens, "token_logprobs": logprobs}
    return {"choices": [{"text": "a", "logprobs": part, "token_ids": ids}]}


class TestLogprobs:
    @pytest.mark.parametrize("bad", [0.1, 2e-6, float("nan"), float("inf"), float("-inf"), 5])
    def test_impossible_log_probabilities_are_refused(self, bad: float) -> None:
        with pytest.raises(ValueError, match="log-probability"):
            read_completion(completion([-1.0, bad]))
        content = [{"token": "a", "logprob": bad}]
        choice = {"message": {"content": "a"}, "logprobs": {"content": content}}
        with pytest.raises(ValueError, match="log-probability"):
            read_chat({"choices": [choice]})

    def test_log_probabilities_a_little_above_zero_are_zero(self) -> None:
        assert read_completion(completion([-1.0, 5e-7, 0])).logprobs == [-1.0, 0.0, 0.0]

    def test_a_log_probability_that_is_null_costs_its_token_only(self) -> None:
        assert read_completion(completion([-0.1, None, -0.2])).logprobs == [-0.1, None, -0.2]
        content = [{"token": "a", "logprob": value} for value in (None, -0.5)]
        choice = {"message": {"content": "aa"}, "logprobs": {"content": content}}
        answer = read_chat({"choices": [choice]})
        assert (answer.logprobs, answer.tokens) == ([None, -0.5], ["a", "a"])
        assert read_completion(completion([None, None])).logprobs is None

    def test_a_different_number_of_log_probabilities_and_tokens_is_refused(self) -> None:
        with pytest.raises(ValueError, match="different numbers"):
            read_completion(completion([-1.0, -1.0], tokens=["a"]))
        with pytest.raises(ValueError, match="different numbers"):
            read_completion(completion([-1.0, -1.0], ids=[1, 2, 3]))

    def test_impossible_log_probabilities_make_an_answer_malformed(self) -> None:
        content = [{"token": "a", "logprob": 0.5}]
        choice = {"message": {"content": "a"}, "logprobs": {"content": content}}
        with pytest.raises(MalformedReplyError, match=r"at most 0; got 0\.5"):
            ask(answering(json.dumps({"choices": [choice]}).encode()))
