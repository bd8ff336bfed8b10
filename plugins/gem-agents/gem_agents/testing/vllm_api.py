"""A server with a small transformers model that speaks the part of vLLM's API that training uses.

    with VllmApi(folder, logprobs_mode="processed_logprobs") as server:
        agent = make_agent("vllm", model=folder, base_url=server.url)

It implements vLLM's documentation: ``completions`` with token ids, ``models``, and adapters that
are loaded and unloaded by name (``load_lora_adapter``). As with vLLM, a sampling parameter that a
request lacks is taken from ``defaults``, log-probabilities are those of the model unless
``logprobs_mode`` is ``processed_logprobs``, and what is cached under the name of adapters stays:
loading other adapters under an old name changes nothing. It is meant for tests, not for speed.
"""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import torch
import transformers
from aiohttp import web

from gem_agents.local_model import LocalModel
from gem_core.background import BackgroundLoop
from gem_rollout.tokens.sampler import Request, Sampled

__all__ = ["VllmApi"]

_DEFAULTS = {"temperature": 0.2, "top_p": 0.9, "top_k": 20, "max_tokens": 16}
"""Like a ``generation_config.json`` that restricts sampling."""
_SECONDS = 10.0
"""Seconds in which the server must end."""


class VllmApi:
    """The server; it serves on loopback within its context.

    Args:
        folder: Folder of the model.
        logprobs_mode: ``raw_logprobs`` or ``processed_logprobs``.
        defaults: Sampling parameters for requests that lack them.

    Attributes:
        url: The ``base_url`` for clients.
        asked: The bodies of all completions so far.
        loaded: The adapters by name.
        loads: The names of all adapters so far, in order.
    """

    def __init__(
        self,
        folder: str,
        *,
        logprobs_mode: str = "raw_logprobs",
        defaults: Mapping[str, Any] = _DEFAULTS,
    ) -> None:
        self._folder, self._mode, self._defaults = folder, logprobs_mode, dict(defaults)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self._models = {folder: self._local(self._plain())}
        self.asked: list[dict[str, Any]] = []
        self.loaded: dict[str, str] = {}
        self.loads: list[str] = []
        self.url = ""

    def _plain(self) -> Any:
        return transformers.AutoModelForCausalLM.from_pretrained(self._folder).eval()

    def _adapted(self, path: str) -> Any:
        import peft  # noqa: PLC0415 - optional

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # raised by peft's use of transformers
            return peft.PeftModel.from_pretrained(self._plain(), path).eval()

    def _local(self, model: Any) -> LocalModel:
        return LocalModel(model, self._tokenizer, batch_size=64)

    def __enter__(self) -> Self:
        self._loop = BackgroundLoop("vLLM servers", seconds=_SECONDS)
        runner = self._loop.run(self._start())
        self._loop.before_end(runner.cleanup)
        return self

    async def _start(self) -> web.AppRunner:
        app = web.Application()
        app.add_routes(
            [
                web.get("/v1/models", self._list),
                web.post("/v1/completions", self._complete),
                web.post("/v1/load_lora_adapter", self._load),
                web.post("/v1/unload_lora_adapter", self._unload),
            ]
        )
        runner = web.AppRunner(app, shutdown_timeout=_SECONDS / 2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    def __exit__(self, *_: object) -> None:
        self._loop.close()

    async def _list(self, _: web.Request) -> web.Response:
        context = self._models[self._folder].context
        base = {"id": self._folder, "object": "model", "max_model_len": context}
        adapters = [{"id": name, "object": "model", "root": at} for name, at in self.loaded.items()]
        return web.json_response({"object": "list", "data": [base, *adapters]})

    async def _load(self, request: web.Request) -> web.Response:
        body = await request.json()
        name, path = body["lora_name"], body["lora_path"]
        if name in self.loaded:
            return _refusal(f"The lora adapter '{name}' has already been loaded.")
        if name not in self._models:  # what is cached under a name stays
            try:
                self._models[name] = self._local(self._adapted(path))
            except (OSError, ValueError) as error:
                return _refusal(str(error))
        self.loaded[name] = path
        self.loads.append(name)
        return web.Response(text=f"Success: LoRA adapter '{name}' added successfully.")

    async def _unload(self, request: web.Request) -> web.Response:
        name = (await request.json())["lora_name"]
        if self.loaded.pop(name, None) is None:
            return _refusal(f"The lora adapter '{name}' cannot be found.", 404)
        return web.Response(text=f"Success: LoRA adapter '{name}' removed successfully.")

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        name = body["model"]
        if name != self._folder and name not in self.loaded:
            return _refusal(f"The model `{name}` does not exist.", 404)
        local, asked = self._models[name], {**self._defaults, **body}
        if len(asked["prompt"]) + asked["max_tokens"] > local.context:
            return _refusal(f"This model's maximum context length is {local.context} tokens.")
        sampled = await local.submit(self._request_of(asked))
        return web.json_response(self._answer(asked, local, sampled))

    def _request_of(self, asked: Mapping[str, Any]) -> Request:
        return Request(
            asked["prompt"],
            asked["max_tokens"],
            asked["temperature"],
            asked["top_p"],
            asked.get("seed"),
            tuple(asked.get("stop") or ()),
            self._mode == "processed_logprobs",
        )

    def _answer(
        self, asked: Mapping[str, Any], local: LocalModel, sampled: Sampled
    ) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "text": local.text_of(sampled),
            "finish_reason": "stop" if sampled.is_complete else "length",
            "logprobs": None,
        }
        if asked.get("return_token_ids"):
            choice |= {"prompt_token_ids": asked["prompt"], "token_ids": sampled.ids}
        if asked.get("logprobs") is not None:
            choice["logprobs"] = {
                "tokens": [self._tokenizer.decode([one]) for one in sampled.ids],
                "token_logprobs": sampled.logprobs,
                "top_logprobs": self._likely(asked, local) if asked["logprobs"] else None,
                "text_offset": [],
            }
        usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": len(sampled.ids)}
        return {
            "id": "cmpl-1",
            "object": "text_completion",
            "model": asked["model"],
            "choices": [choice],
            "usage": usage,
        }

    def _likely(self, asked: Mapping[str, Any], local: LocalModel) -> list[dict[str, float]]:
        """Return the log-probabilities of the most likely first tokens."""
        with torch.no_grad():
            logits = local.model(input_ids=torch.tensor([asked["prompt"]])).logits[0, -1]
        if self._mode == "processed_logprobs" and asked["temperature"] > 0:
            logits = logits / asked["temperature"]
        values, ids = logits.log_softmax(-1).topk(asked["logprobs"])
        tokens = [self._tokenizer.decode([one]) for one in ids.tolist()]
        return [dict(zip(tokens, values.tolist(), strict=True))]


def _refusal(message: str, status: int = 400) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)
