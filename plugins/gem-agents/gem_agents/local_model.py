"""A transformers model in this process, shared by all agents that use it.

Replies are futures of the event loop in which they are requested, and the model runs in this loop,
one step at a time. Before a step, it waits until no new prompts arrive as a consequence of earlier
replies. It counts iterations of the loop and not seconds. Unless something else depends on time,
the same run therefore has the same batches and the same tokens.
"""

import asyncio
import os
import weakref
from collections import deque
from typing import Any

import torch

from gem_agents.batch_limits import BatchLimits
from gem_agents.decoder import Decoder
from gem_agents.errors import SamplerMemoryError
from gem_agents.jobs import Job
from gem_agents.mutable_model import MutableModel
from gem_agents.prompt_images import PromptImages
from gem_agents.stop_strings import StopStrings
from gem_core.errors import ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_rollout.models.memory import is_out_of_memory
from gem_rollout.models.pretrained import find_pretrained
from gem_rollout.models.threads import set_threads_of_command
from gem_rollout.models.vision import Vision, load_with_processor, tokenizer_of
from gem_rollout.tokens.sampler import Request, Sampled
from gem_rollout.tokens.text import TokenText

__all__ = ["LocalModel", "end_ids_of", "load_model", "share_model"]

_QUIET_ITERATIONS = 8
"""Iterations of the loop without a new prompt after which a step starts.

In ``collect``, six iterations pass between the end of an episode and the start of the next one.
"""


class LocalModel:
    """A model with its tokenizer and the prompts that wait for it.

    Args:
        model: A model of transformers or peft; its weights may change between steps.
        tokenizer: Its tokenizer, or its processor if it reads images.
        batch_size: Most prompts that are decoded at the same time.
        kv_tokens: Most tokens of the KV cache, padding included; None for no limit.

    Attributes:
        limits: The limits of the batch; they are lowered when memory runs out.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, batch_size: int, kv_tokens: int | None = None
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer_of(tokenizer)
        self.vision = Vision.of(tokenizer, model)
        """How it reads images; None if it reads text only."""
        config = model.config.get_text_config()
        self.context: int = getattr(config, "max_position_embeddings", None) or 2**31
        self._end_ids = end_ids_of(model, self.tokenizer)
        self.limits = BatchLimits(batch_size, kv_tokens)
        self._mutable_model = MutableModel(model, self.vision)
        self._stop_strings = StopStrings(self.tokenizer)
        self._agents: weakref.WeakSet[Any] = weakref.WeakSet()
        self._runners: dict[asyncio.AbstractEventLoop, _StepRunner] = {}
        self.lifetime = Lifetime(self, self._runners.clear, what="local model", at_exit=False)

    @property
    def version(self) -> int | None:
        """Version of the weights, for the record of each token; None until it is set.

        Set it after each update of the weights, to a number that rises.
        """
        return self._mutable_model.version

    @version.setter
    def version(self, version: int | None) -> None:
        self._mutable_model.version = version

    def submit(self, request: Request) -> "asyncio.Future[Sampled]":
        """Queue a prompt in the running event loop, and return the future of its reply.

        Raises:
            DataError: The tokens of images are not those of the request's images.
            ContentError: An image is damaged.
            ForkError: This is a fork of the process that loaded the model.
        """
        self.lifetime.check()
        images = self._images_of(request)
        loop = asyncio.get_running_loop()
        runner = self._runners.get(loop)
        if runner is None:
            for ended in [one for one in self._runners if one.is_closed()]:
                del self._runners[ended]
            decoder = Decoder(self._mutable_model, self._end_ids, self._stop_strings, self.limits)
            runner = self._runners[loop] = _StepRunner(decoder)
        return runner.add(loop, Job(request, loop.create_future(), images), len(self._agents))

    def _images_of(self, request: Request) -> PromptImages | None:
        reader = self._mutable_model.reader
        if reader is None or not request.images:
            return None
        return reader.prepare(request.ids, request.images)

    def text_of(self, sampled: Sampled) -> str:
        """Return the text of a reply, without the token that ended it."""
        return TokenText(self.tokenizer, self._end_ids).of(sampled.ids)

    def join(self, agent: object) -> None:
        """Register an agent that plays: its tokens stay cached between its turns."""
        self._agents.add(agent)

    def leave(self, agent: object) -> None:
        """Remove an agent; with the last one, the cache is dropped.

        A run is therefore independent of earlier runs, to the last bit.
        """
        self._agents.discard(agent)
        if not self._agents:
            self._runners.clear()


class _StepRunner:
    """Runs the steps of a decoder in an event loop while there are prompts.

    Args:
        decoder: The decoder.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._waiting: deque[Job] = deque()
        self._is_running = False
        self._needed = self._quiet = 0

    def add(
        self, loop: asyncio.AbstractEventLoop, job: Job, episodes: int
    ) -> "asyncio.Future[Sampled]":
        self._decoder.episodes = episodes
        self._waiting.append(job)
        self._needed, self._quiet = _QUIET_ITERATIONS, 0
        if not self._is_running:
            self._is_running = True
            loop.call_soon(self._iterate, loop)
        return job.future

    def _iterate(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do a step if no prompt has arrived for some iterations of the loop."""
        self._quiet += 1
        if self._quiet > self._needed:
            self._needed = self._quiet = 0
            try:
                self._step()
            except BaseException:  # Ctrl-C
                self._is_running = False
                for job in (*self._decoder.abandon(), *self._waiting):
                    job.future.cancel()
                self._waiting.clear()
                raise
        self._is_running = bool(self._waiting) or self._decoder.is_busy
        if self._is_running:
            loop.call_soon(self._iterate, loop)

    def _step(self) -> None:
        try:
            ended = self._decoder.step(self._waiting)
        except Exception as error:  # noqa: BLE001 - passed on to every episode of the batch
            self._needed = _QUIET_ITERATIONS
            if not is_out_of_memory(error) or not self._decoder.shrink(self._waiting):
                self._fail(error)
            return
        for job in ended:
            if not job.future.done():
                job.future.set_result(job.sampled())
                self._needed = _QUIET_ITERATIONS

    def _fail(self, error: Exception) -> None:
        """Pass an error on to the live jobs; to the waiting ones if it arose before they joined."""
        jobs = self._decoder.abandon()
        if not jobs:
            jobs = list(self._waiting)
            self._waiting.clear()
        for job in jobs:
            if not job.future.done():
                job.future.set_exception(_with_advice(error, len(job.ids)))


def _with_advice(error: Exception, tokens: int) -> Exception:
    if isinstance(error, StopIteration):  # which a future does not take
        return RuntimeError(f"The model raised {error!r}.")
    if not is_out_of_memory(error):
        return error
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return SamplerMemoryError(
        f"Out of memory while one reply alone was sampled ({said}): its prompt and reply have "
        f"{tokens} tokens. Use a smaller model, bfloat16, or shorter episodes."
    )


_Key = tuple[int, str, str, str]
_loaded: dict[_Key, tuple[Any, Any]] = {}
"""Models by process, name, device and dtype: a fork loads its own."""
_loading: dict[_Key, Lock] = {}
_shared: "weakref.WeakValueDictionary[tuple[int, int, int, int | None], LocalModel]" = (
    weakref.WeakValueDictionary()
)
_lock = Lock()


def share_model(
    model: Any, tokenizer: Any, *, batch_size: int, kv_tokens: int | None = None
) -> LocalModel:
    """Return the ``LocalModel`` of a model, which equal calls share.

    Args:
        model: A model of transformers or peft.
        tokenizer: Its tokenizer or processor.
        batch_size: Most prompts that are decoded at the same time.
        kv_tokens: Most tokens of the KV cache, padding included; None for no limit.
    """
    key = (id(model), id(tokenizer), batch_size, kv_tokens)
    with _lock:
        shared = _shared.get(key)
        if shared is None or not shared.lifetime.is_open:  # a parent's
            shared = _shared[key] = LocalModel(
                model, tokenizer, batch_size=batch_size, kv_tokens=kv_tokens
            )
        return shared


def load_model(
    name: str, *, device: str, dtype: str, batch_size: int, kv_tokens: int | None = None
) -> LocalModel:
    """Return the ``LocalModel`` of a name; the model is loaded at the first call.

    Threads that ask for other models do not wait for it. A fork of the process loads its own.

    Args:
        name: Name on the hub, or folder.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
        dtype: ``auto``, ``float32``, ``bfloat16``, ...
        batch_size: Most prompts that are decoded at the same time.
        kv_tokens: Most tokens of the KV cache, padding included; None for no limit.

    Raises:
        ConfigError: The model cannot be loaded.
    """
    key = (os.getpid(), name, device, dtype)
    with _lock:
        loading = _loading.setdefault(key, Lock())
    with loading:
        if key not in _loaded:
            _loaded[key] = _load(name, device, dtype)
    set_threads_of_command(_loaded[key][0])
    return share_model(*_loaded[key], batch_size=batch_size, kv_tokens=kv_tokens)


def _load(name: str, device: str, dtype: str) -> tuple[Any, Any]:
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    found, options = find_pretrained(name)
    try:
        model, processor = load_with_processor(found, options, dtype=dtype)
        model.to(device)
    except (OSError, ValueError, RuntimeError, AttributeError, ImportError) as error:
        raise ConfigError(f"The model {name!r} cannot be loaded to {device}: {error}") from error
    return model.eval(), processor


def end_ids_of(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a reply."""
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    several = configured if isinstance(configured, list) else [configured]
    return frozenset(one for one in (*several, tokenizer.eos_token_id) if one is not None)
