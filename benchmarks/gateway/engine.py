"""An engine with prepared answers, in vLLM's form: ``python engine.py PROMPT_TOKENS REPLY_TOKENS``.

The prompt of a chat's n-th call begins with all tokens of the call before, as with a template that
only appends. Answers have token ids and log-probabilities if the request asks for them.
"""

import functools
import random
import socket
import sys
from typing import Any

import orjson
from aiohttp import web

ASIDE = 8
"""Tokens between two replies."""
END = 7


class EchoEngine:
    """The engine.

    Args:
        prompt: Number of tokens of the first prompt.
        reply: Number of tokens of each reply.
    """

    def __init__(self, prompt: int, reply: int) -> None:
        rng = random.Random(0)
        self._prompt, self._reply = prompt, reply
        self._ids = [rng.randrange(1000, 150_000) for _ in range(prompt + 100 * (reply + ASIDE))]

    @functools.lru_cache(maxsize=1000)  # noqa: B019 - there is one engine
    def _answer(self, turn: int, *, stream: bool, asked: bool) -> list[bytes]:
        """Return the answer of a chat, or the events of its stream."""
        start = self._prompt + turn * (self._reply + ASIDE)
        ids = self._ids[start : start + self._reply]
        usage = {"prompt_tokens": start, "completion_tokens": len(ids)}
        head: dict[str, Any] = {"id": "engine", "object": "chat.completion", "model": "tiny"}
        prompt = {"prompt_token_ids": self._ids[:start]} if asked else {}
        if not stream:
            choice = {"index": 0, "finish_reason": "stop", **_tokens(ids, asked=asked)}
            choice["message"] = {"role": "assistant", "content": "word " * len(ids)}
            return [orjson.dumps({**head, **prompt, "choices": [choice], "usage": usage})]
        pieces = []
        for at, one in enumerate(ids):
            reason = "stop" if at == len(ids) - 1 else None
            choice = {"index": 0, "finish_reason": reason, **_tokens([one], asked=asked)}
            choice["delta"] = {"content": "word "}
            more = prompt if at == 0 else {}
            pieces.append(_event({**head, **more, "choices": [choice]}))
        last = _event({**head, "choices": [], "usage": usage})
        return [*pieces, last, b"data: [DONE]\n\n"]

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Answer a chat."""
        raw = await request.read()
        turn, stream = raw.count(b'"assistant"'), b'"stream":true' in raw
        asked = b'"return_token_ids":true' in raw
        return await _send(request, self._answer(turn, stream=stream, asked=asked), stream=stream)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """Answer a prompt of token ids."""
        body = orjson.loads(await request.read())
        ids = [*self._ids[: self._reply - 1], END]
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": len(ids)}
        stream = bool(body.get("stream"))
        size = 1 if stream else len(ids)
        pieces = []
        for at in range(0, len(ids), size):
            some = ids[at : at + size]
            choice: dict[str, Any] = {"index": 0, "text": "word " * size, "token_ids": some}
            choice["logprobs"] = {"token_logprobs": [-0.5] * size}
            choice["prompt_token_ids"] = body["prompt"] if at == 0 else None
            choice["finish_reason"] = "stop" if at + size >= len(ids) else None
            content: dict[str, Any] = {"choices": [choice]} | ({} if stream else {"usage": usage})
            pieces.append(_event(content) if stream else orjson.dumps(content))
        if stream:
            pieces += [_event({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]
        return await _send(request, pieces, stream=stream)

    async def tokenize(self, request: web.Request) -> web.Response:
        """Render a chat: the first prompt, or a few tokens for each message."""
        body = orjson.loads(await request.read())
        messages = body["messages"]
        if messages[0]["content"] != "a":
            return _json({"tokens": self._ids[: self._prompt]})
        ids = [one for message in messages for one in (3, ord(message["content"][0]), END, 10)]
        return _json({"tokens": ids + ([3] if body["add_generation_prompt"] else [])})


async def _send(request: web.Request, pieces: list[bytes], *, stream: bool) -> web.StreamResponse:
    if not stream:
        return web.Response(body=pieces[0], content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    await response.write_eof()
    return response


def _tokens(ids: list[int], *, asked: bool) -> dict[str, Any]:
    if not asked:
        return {}
    content: list[dict[str, Any]] = [
        {"token": "word ", "logprob": -0.5, "bytes": None, "top_logprobs": []} for _ in ids
    ]
    return {"token_ids": ids, "logprobs": {"content": content}}


def _event(content: Any) -> bytes:
    return b"data: " + orjson.dumps(content) + b"\n\n"


def _json(content: Any) -> web.Response:
    return web.Response(body=orjson.dumps(content), content_type="application/json")


async def _models(_: web.Request) -> web.Response:
    return _json({"data": [{"id": "tiny", "max_model_len": 2**20}]})


def main() -> None:
    """Serve, and print the port."""
    engine = EchoEngine(int(sys.argv[1]), int(sys.argv[2]))
    app = web.Application(client_max_size=2**28)
    app.router.add_get("/v1/models", _models)
    app.router.add_post("/v1/chat/completions", engine.chat)
    app.router.add_post("/v1/completions", engine.complete)
    app.router.add_post("/tokenize", engine.tokenize)
    sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"http://127.0.0.1:{sock.getsockname()[1]}", flush=True)
    web.run_app(app, sock=sock, print=None, access_log=None)


if __name__ == "__main__":
    main()
