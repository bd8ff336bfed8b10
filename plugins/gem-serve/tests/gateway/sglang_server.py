"""SGLang's own HTTP server, on a machine without a GPU: only what is sampled comes from a script.

The routes, the models of requests and answers, the templates, the parsers, the checks of lengths
and the form of errors are SGLang's. Its scheduler and detokenizer, which need a GPU, are replaced:
``Manager.generate_request`` says what they would. ``tests/ci/gateway_engine.sh`` installs it.
"""

import asyncio
from collections.abc import Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import fastapi
from http_engine import HttpEngine
from sglang.srt import runtime_context
from sglang.srt.entrypoints import http_server
from sglang.srt.entrypoints.openai import protocol
from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
from sglang.srt.entrypoints.openai.serving_completions import (
    OpenAIServingCompletion,
)
from sglang.srt.entrypoints.openai.serving_tokenize import OpenAIServingTokenize
from sglang.srt.managers.tokenizer_manager import TokenizerManager
from sglang.srt.parser.template_manager import TemplateManager
from sglang.srt.sampling.sampling_params import SamplingParams
from sglang.srt.server_args import PortArgs, ServerArgs

_MODELS = {
    "/v1/chat/completions": protocol.ChatCompletionRequest,
    "/v1/completions": protocol.CompletionRequest,
    "/tokenize": protocol.TokenizeRequest,
}


class Manager(TokenizerManager):
    """SGLang's manager of requests, with a script in the place of its other processes."""

    engine: "SglangServer"

    async def generate_request(self, obj: Any, request: Any = None) -> Any:
        obj.normalize_batch_and_arguments()
        fault = self.engine.faults.take()
        if fault.isdigit():
            raise fastapi.HTTPException(int(fault), f"Scripted status {fault}.")
        prompt = list(obj.input_ids or self.tokenizer.encode(obj.text))
        self._validate_one_request(obj, prompt)
        params = SamplingParams(**obj.sampling_params)
        params.verify(self.model_config.vocab_size)
        body = {**obj.sampling_params, "max_tokens": params.max_new_tokens}
        sample = self.engine._sample(body, prompt)
        size = len(sample.ids)
        for end in self._ends(size) if obj.stream else [size]:
            sample.sent = end
            yield self._output(obj, sample, end, self._reason(sample, end, fault), params)
            await asyncio.sleep(0)

    def _ends(self, size: int) -> Iterator[int]:
        yield from range(self.engine.chunk, size, self.engine.chunk)
        yield size

    def _reason(self, sample: Any, end: int, fault: str) -> dict[str, Any] | None:
        if fault.startswith("late"):
            said = "Input length (9 tokens) exceeds the maximum allowed length (8 tokens)."
            return {"type": "abort", "message": said, "status_code": HTTPStatus(int(fault[5:]))}
        if end < len(sample.ids):
            return None
        if fault == "abort":
            return {"type": "abort", "message": "It was told to."}
        last = sample.ids[-1]
        if last == self.tokenizer.eos_token_id:
            return {"type": "stop", "matched": last}
        return {"type": "length", "length": len(sample.ids)}

    def _output(self, obj: Any, sample: Any, end: int, reason: Any, params: Any) -> dict[str, Any]:
        ids = sample.ids[:end]
        is_matched = reason is not None and "matched" in reason
        text = self.tokenizer.decode(
            ids[:-1] if is_matched else ids, skip_special_tokens=params.skip_special_tokens
        )
        found = [(one, token, "") for one, token in zip(sample.logprobs, ids, strict=False)]
        meta = {
            "id": "sglang-1",
            "prompt_tokens": len(sample.prompt_ids),
            "completion_tokens": end,
            "finish_reason": reason,
            "output_token_logprobs": found,
            "output_token_logprobs_length": end,
            "weight_version": "default",
        }
        prompt = {"prompt_token_ids": sample.prompt_ids} if obj.return_prompt_token_ids else {}
        shown = text if reason else text.rstrip("\N{REPLACEMENT CHARACTER}")
        return {"text": shown, "output_ids": ids, "meta_info": meta, **prompt}

    def create_abort_task(self, obj: Any) -> None:
        """Leave the abort of a request to its connection."""


class SglangServer(HttpEngine):
    """SGLang's server with what a script says; see ``HttpEngine``."""

    models = _MODELS

    async def _app(self, folder: str) -> Any:
        parsers = {"tool_call_parser": "hermes", "reasoning_parser": "qwen3"}
        if self.faults.next[:1] == ["no-parser"]:
            parsers = {}
        args = ServerArgs(
            model_path=folder,
            served_model_name="tiny",
            context_length=min(self.context, 4096),
            device="cpu",
            **parsers,
        )
        runtime_context.publish(args, role="tokenizer")
        manager = Manager(args, PortArgs.init_new(args))
        manager.engine = self
        templates = TemplateManager()
        templates.initialize_templates(manager, args.model_path, None, None)
        http_server.set_global_state(http_server._GlobalState(manager, templates, {}))
        app = http_server.app
        app.router.lifespan_context = _no_warmup
        app.state.openai_serving_chat = OpenAIServingChat(manager, templates)
        app.state.openai_serving_completion = OpenAIServingCompletion(manager, templates)
        app.state.openai_serving_tokenize = OpenAIServingTokenize(manager, templates)
        return app


@asynccontextmanager
async def _no_warmup(_: Any) -> Any:
    yield
