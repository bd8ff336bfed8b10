"""A local HTTP server that answers SGLang's ``/generate`` with the model of a case."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from gem_adapters.testing.adapters import ScriptedModel
from gem_rollout.tokens.sampler import Sampled

__all__ = ["SglangServer", "serve"]


class SglangServer:
    """Replies with a model.

    Args:
        model: The model.
        aborts: How many of the first requests are aborted when half of the tokens are sampled.
        spoil: Changes each response.
    """

    def __init__(
        self,
        model: ScriptedModel,
        aborts: int = 0,
        spoil: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.model, self.aborts, self._spoil = model, aborts, spoil
        self.url = ""
        """Where it listens."""
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests so far."""
        self._rest: dict[tuple[int, ...], Sampled] = {}

    async def generate(self, request: web.Request) -> web.Response:
        """Answer a request."""
        body = await request.json()
        self.requests.append(body)
        prompt = tuple(body["input_ids"])
        sampled = self._rest.pop(prompt, None)
        try:
            if sampled is None:
                room = body["sampling_params"]["max_new_tokens"]
                sampled = await self.model.asample(prompt, room)
        except RuntimeError as error:
            return web.json_response({"error": str(error)}, status=500)
        if sampled is None:
            return web.json_response(None)
        finish = "stop" if sampled.is_complete else "length"
        ids, logprobs = sampled.ids, list(sampled.logprobs)
        if self.aborts:
            self.aborts -= 1
            half, finish = len(ids) // 2, "abort"
            rest = Sampled(ids[half:], logprobs[half:], sampled.is_complete)
            self._rest[(*prompt, *ids[:half])] = rest
            ids, logprobs = ids[:half], logprobs[:half]
        meta = {
            "finish_reason": {"type": finish},
            "completion_tokens": len(ids),
            "prompt_tokens": len(prompt),
            "output_token_logprobs": [
                [value, token, None] for value, token in zip(logprobs, ids, strict=False)
            ],
        }
        text = self.model.tokenizer.decode(ids)
        response = {"text": text, "output_ids": ids, "meta_info": meta}
        return web.json_response(self._spoil(response) if self._spoil else response)


@asynccontextmanager
async def serve(model: ScriptedModel, **options: Any) -> AsyncIterator[SglangServer]:
    """Serve a model on a free port.

    Args:
        model: The model.
        **options: Further arguments of ``SglangServer``.
    """
    server = SglangServer(model, **options)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/generate", server.generate)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"
        yield server
    finally:
        await runner.cleanup()
