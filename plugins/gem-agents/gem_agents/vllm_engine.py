"""vLLM in this process as a model that samples tokens.

The engine (``vllm.AsyncLLMEngine``, https://docs.vllm.ai/en/latest/api/vllm/) belongs to one event
loop, and rollouts come and go with loops of their own, so it has a loop in a thread.
"""

import asyncio
import itertools
import os
import threading
from collections.abc import Awaitable, Mapping
from typing import Any

from gem_core.background import BackgroundLoop
from gem_core.errors import ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_rollout.tokens.sampler import Request, Sampled
from gem_rollout.tokens.text import TokenText

__all__ = ["VllmEngine", "share_engine"]

_OURS = ("model", "logprobs_mode", "generation_config")
"""Arguments of the engine that this class sets."""
_CLOSE_SECONDS = 30.0
"""vLLM waits for its processes, and kills those that do not end."""


class VllmEngine:
    """An engine of vLLM, on the GPU of this process.

    Args:
        model: Folder or name of the model.
        tokenizer: Its tokenizer.
        end_ids: Tokens that end a reply; None for the tokenizer's.
        options: Arguments of ``vllm.AsyncEngineArgs``, such as ``gpu_memory_utilization``,
            ``max_model_len`` or ``max_lora_rank``. Adapters can be used unless ``enable_lora`` is
            false; the weights can be replaced if it is.

    Raises:
        ConfigError: vLLM is not installed, or an option contradicts what training needs.
    """

    def __init__(
        self,
        model: str,
        *,
        tokenizer: Any,
        end_ids: frozenset[int] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        options = dict(options or {})
        if wrong := [name for name in _OURS if name in options]:
            raise ConfigError(
                f"The options of vLLM cannot have {', '.join(wrong)}: "
                f"log-probabilities are those after temperature (processed_logprobs), and defaults "
                f"of the model's generation_config.json are not used."
            )
        try:
            import vllm  # noqa: PLC0415 - optional, and takes many seconds
            from vllm.lora.request import LoRARequest  # noqa: PLC0415
        except ImportError as error:
            raise ConfigError(
                f"vLLM in this process is not installed ({error}): pip install vllm, or start a "
                f"server and give its base_url; in training, set sampling.engine.server."
            ) from error
        self.tokenizer = tokenizer
        self.version: int | None = None
        """Version of the weights, set by whoever updates them; None if unknown."""
        self._vllm, self._lora_request = vllm, LoRARequest
        self._text = TokenText(tokenizer, end_ids)
        self._loop = BackgroundLoop()
        self._numbers = itertools.count(1)
        self._adapters: Any = None
        arguments = vllm.AsyncEngineArgs(
            model=model,
            logprobs_mode="processed_logprobs",
            generation_config="vllm",
            **{"enable_lora": True, **options},
        )
        try:
            self._engine = self._loop.run(self._start(arguments))
        except BaseException:
            self._loop.close()
            raise
        self._lifetime = Lifetime(self, _end, self._engine, self._loop, what="vLLM engine")
        self.context: int = self._engine.model_config.max_model_len

    async def _start(self, arguments: Any) -> Any:
        return self._vllm.AsyncLLMEngine.from_engine_args(arguments)

    def submit(self, request: Request) -> Awaitable[Sampled]:
        """Return the future of the reply to a prompt.

        Raises:
            ClosedError: The engine was closed.
            ForkError: This is a fork of the process that made the engine.
        """
        self._lifetime.check()
        return asyncio.wrap_future(self._loop.start(self._sample(request)))

    async def _sample(self, request: Request) -> Sampled:
        last, version = None, self.version  # a request keeps the adapters that it began with
        async for output in self._engine.generate(
            {"prompt_token_ids": request.ids},
            self._vllm.SamplingParams(**self.parameters(request)),
            f"gem-{next(self._numbers)}",
            lora_request=self._adapters,
        ):
            last = output
        if last is None:
            raise RuntimeError("vLLM ended a request without an output.")
        reply = last.outputs[0]
        ids = list(reply.token_ids)
        logprobs = [of[token].logprob for of, token in zip(reply.logprobs, ids, strict=True)]
        is_complete = reply.finish_reason == "stop"
        return Sampled(ids, logprobs, is_complete, versions=[version] * len(ids))

    def parameters(self, request: Request) -> dict[str, Any]:
        """Return the arguments of ``vllm.SamplingParams``, each that changes the distribution."""
        return {
            "max_tokens": min(request.max_new_tokens, self.context - len(request.ids)),
            "temperature": request.temperature,
            "top_p": request.top_p,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "seed": request.seed,
            "stop": list(request.stop),
            "include_stop_str_in_output": True,
            "skip_special_tokens": False,
            "logprobs": 0,
        }

    def text_of(self, sampled: Sampled) -> str:
        """Return the text of a reply, without the token that ended it."""
        return self._text.of(sampled.ids)

    def check_logprobs(self, _temperature: float) -> None:
        """Do nothing: the engine is started with ``processed_logprobs``."""

    def use_adapters(self, name: str, path: str) -> None:
        """Sample with adapters from now on.

        Args:
            name: Their name, which no other adapters have had.
            path: The folder that peft wrote.
        """
        self._adapters = self._lora_request(name, next(self._numbers), path)

    def use_weights(self, path: str) -> None:
        """Sample with other weights from now on, which vLLM loads in place of its own.

        Args:
            path: A folder with a model of the same architecture, as transformers writes it.

        Raises:
            ClosedError: The engine was closed.
            RuntimeError: A reply that is still being sampled would mix both weights.
        """
        self._lifetime.check()
        self._loop.run(self._reload(path))

    async def _reload(self, path: str) -> None:
        await self._engine.collective_rpc("reload_weights", kwargs={"weights_path": path})
        if not await self._engine.reset_prefix_cache():  # keys and values of the old weights
            raise RuntimeError("vLLM is still sampling, and keeps the cache of the old weights.")

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return self._lifetime.is_open

    def close(self) -> None:
        """End the engine; may be called twice. It waits at most some 40 seconds."""
        self._lifetime.end()


_shared: dict[tuple[Any, ...], VllmEngine] = {}
"""The engines of agents by process and arguments."""
_lock = Lock()


def share_engine(
    model: str,
    *,
    tokenizer: Any,
    end_ids: frozenset[int] | None,
    options: Mapping[str, Any] | None,
) -> VllmEngine:
    """Return the engine that equal calls share; the arguments are those of ``VllmEngine``."""
    key = (os.getpid(), model, id(tokenizer), end_ids, repr(sorted((options or {}).items())))
    with _lock:
        engine = _shared.get(key)
        if engine is None or not engine.is_open:
            engine = _shared[key] = VllmEngine(
                model, tokenizer=tokenizer, end_ids=end_ids, options=options
            )
        return engine


def _end(engine: Any, loop: BackgroundLoop) -> None:
    ending = threading.Thread(target=engine.shutdown, name="gem-vllm-end", daemon=True)
    ending.start()
    ending.join(_CLOSE_SECONDS)
    loop.close()
