"""vLLM's own HTTP server, on a machine without a GPU: only what is sampled comes from a script.

The routes, the models of requests and answers, the templates, the parsers, the checks of lengths,
the form of errors and the text of tokens are vLLM's. Its engine core, which needs a GPU, is
replaced: ``Core`` says what it would. ``tests/ci/gateway_engine.sh`` installs it.
"""

import asyncio
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from http_engine import HttpEngine
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.common.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.entrypoints.launchers.api_server.app_state import init_app_state
from vllm.entrypoints.launchers.app import build_app
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.serve.lora.protocol import LoadLoRAAdapterRequest, UnloadLoRAAdapterRequest
from vllm.entrypoints.serve.tokenize.protocol import TokenizeRequest
from vllm.exceptions import GracefulHTTPError, LoRAAdapterNotFoundError
from vllm.outputs import RequestError
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.core_client import EngineCoreClient
from vllm.v1.outputs import LogprobsLists

from gem_serve.gateway.testing.answers import Sample

_MODELS = {
    "/v1/chat/completions": ChatCompletionRequest,
    "/v1/completions": CompletionRequest,
    "/tokenize": TokenizeRequest,
    "/v1/load_lora_adapter": LoadLoRAAdapterRequest,
    "/v1/unload_lora_adapter": UnloadLoRAAdapterRequest,
}
_LONG = "The prompt has more than the maximum length."
_LATE = {
    "late:400": RequestError("validation_error", _LONG),
    "late:503": RequestError("busy", "Wait.", retryable=True),
}


class Core(EngineCoreClient):
    """vLLM's client of its engine core, with a script in the core's place."""

    class resources:  # noqa: N801 - as vLLM names it
        engine_dead = False

    def __init__(self, engine: "VllmServer") -> None:
        self._engine = engine
        self._outputs: asyncio.Queue[EngineCoreOutputs] = asyncio.Queue()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def get_supported_tasks_async(self) -> tuple[str, ...]:
        return ("generate",)

    async def get_output_async(self) -> EngineCoreOutputs:
        return await self._outputs.get()

    async def add_lora_async(self, lora_request: Any) -> bool:
        if not Path(lora_request.lora_path).is_dir():  # noqa: ASYNC240 - it is on this machine
            raise LoRAAdapterNotFoundError(lora_request.lora_name, lora_request.lora_path)
        return True

    async def add_request_async(self, request: Any) -> None:
        fault = self._engine.faults.take()
        if fault.isdigit():
            raise GracefulHTTPError(f"Scripted status {fault}.", HTTPStatus(int(fault)))
        if fault in _LATE:
            self._put(request, [], finish_reason=FinishReason.ERROR, error=_LATE[fault])
            return
        body = {
            **msgspec.structs.asdict(request.sampling_params),
            "model": request.lora_request.lora_name if request.lora_request else "tiny",
        }
        sample = self._engine._sample(body, request.prompt_token_ids)
        self._tasks[request.request_id] = asyncio.ensure_future(self._play(request, sample, fault))

    async def _play(self, request: Any, sample: Sample, fault: str) -> None:
        size, chunk = len(sample.ids), self._engine.chunk
        cut = int(fault.partition(":")[2] or 1) if fault.startswith("cut") else size
        for start in range(0, size, chunk):
            if start >= cut:
                self._put(request, [], finish_reason=FinishReason.ERROR, error=_LATE["late:503"])
                return
            end = min(start + chunk, size)
            reason = None
            if end == size:
                is_whole = sample.ids[-1] == self._engine.tokenizer.eos_token_id
                reason = FinishReason.STOP if is_whole else FinishReason.LENGTH
                reason = FinishReason.ABORT if fault == "abort" else reason
            ids = sample.ids[start:end]
            logprobs = _logprobs(ids, sample.logprobs[start:end], request.sampling_params)
            sample.sent = end
            self._put(request, ids, new_logprobs=logprobs, finish_reason=reason)
            await self._engine.taken(request.request_id)

    def _put(self, request: Any, ids: list[int], **more: Any) -> None:
        output = EngineCoreOutput(request.request_id, ids, **more)
        self._outputs.put_nowait(EngineCoreOutputs(outputs=[output]))

    async def abort_requests_async(self, request_ids: list[str]) -> None:
        for one in request_ids:
            if task := self._tasks.pop(one, None):
                task.cancel()

    async def reset_mm_cache_async(self) -> None:
        """Do nothing: there are no images."""

    def shutdown(self, timeout: float | None = None) -> None:
        """Do nothing: there is no other process."""


def _logprobs(ids: list[int], logprobs: list[float], params: Any) -> LogprobsLists | None:
    """Return the log-probabilities of tokens, and of others that are less likely, if asked for."""
    if params.num_logprobs is None:
        return None
    others = range(params.num_logprobs)
    return LogprobsLists(
        np.array([[one, *others] for one in ids]),
        np.array([[one, *(one - 1 - at for at in others)] for one in logprobs]),
        np.ones(len(ids), dtype=int),
    )


class VllmServer(HttpEngine):
    """vLLM's server with what a script says; see ``HttpEngine``."""

    models = _MODELS

    async def _app(self, folder: str) -> Any:
        parsers = ["--tool-call-parser=hermes", "--reasoning-parser=qwen3"]
        if self.faults.next[:1] == ["no-parser"]:
            parsers = []
        args = make_arg_parser(FlexibleArgumentParser()).parse_args(
            [
                f"--model={folder}",
                "--served-model-name=tiny",
                f"--max-model-len={min(self.context, 4096)}",
                "--enable-auto-tool-choice",
                "--disable-log-stats",
                "--enable-lora",
                *parsers,
            ]
        )
        validate_parsed_serve_args(args)
        config = AsyncEngineArgs.from_cli_args(args).create_engine_config()
        EngineCoreClient.make_async_mp_client = staticmethod(lambda **_: Core(self))
        self._llm = AsyncLLM(config, executor_class=None, log_stats=False, log_requests=False)
        tasks = await self._llm.get_supported_tasks()
        app = build_app(args, tasks, self._llm.model_config)
        await init_app_state(self._llm, app.state, args, tasks)
        return app

    async def taken(self, request_id: str) -> None:
        """Wait until a piece of a reply was taken, so that the next is a piece of its own."""
        states = self._llm.output_processor.request_states
        while not self._llm.engine_core._outputs.empty() or (  # noqa: ASYNC110 - vLLM has no event
            request_id in states and states[request_id].queue.output is not None
        ):
            await asyncio.sleep(0)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._llm.shutdown()
