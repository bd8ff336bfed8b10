"""A transformers model in this process, shared by all agents that use it.

Replies are futures of the event loop in which they are requested, and the model runs in this loop,
one step at a time. Before a step, it waits until no new prompts arrive as a consequence of earlier
replies. It counts iterations of the loop and not seconds. Unless something else depends on time,
the same run therefore has the same batches and the same tokens.
"""

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

import torch
import transformers

from gem_agents.decoder import Decoder, Job
from gem_agents.mutable_model import MutableModel
from gem_agents.stop_strings import StopStrings
from gem_core.errors import ConfigError
from gem_rollout.models.pretrained import pretrained_options
from gem_rollout.sampler import Request, Sampled

__all__ = ["LocalModel", "load_model", "share_model"]

_QUIET_ITERATIONS = 8
"""Iterations of the loop without a new prompt after which a step starts.

In ``collect``, six iterations pass between the end of an episode and the start of the next one.
"""


class LocalModel:
    """A model with its tokenizer and the prompts that wait for it.

    Args:
        model: A model of transformers or peft; its weights may change between steps.
        tokenizer: Its tokenizer.
        batch_size: Most prompts that are decoded at the same time.
    """

    def __init__(self, model: Any, tokenizer: Any, *, batch_size: int) -> None:
        self.model = model
        self.tokenizer = tokenizer
        config = model.config.get_text_config()
        self.context: int = getattr(config, "max_position_embeddings", None) or 2**31
        self._end_ids = _end_ids(model, tokenizer)
        self._batch_size = batch_size
        self._mutable_model = MutableModel(model)
        self._stop_strings = StopStrings(tokenizer)
        self._agents: weakref.WeakSet[Any] = weakref.WeakSet()
        self._runners: dict[asyncio.AbstractEventLoop, _StepRunner] = {}
        self._memo: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return a value, made once for all prompts that arrive before the next step.

        The episodes of a group have equal prompts. Values are dropped at each step, because the
        tokenizer may change.

        Args:
            key: A key that determines the value.
            make: Makes the value.
        """
        value = self._memo.get(key)
        if value is None:
            value = self._memo[key] = make()
        return value

    def submit(self, request: Request) -> "asyncio.Future[Sampled]":
        """Queue a prompt in the running event loop, and return the future of its reply."""
        loop = asyncio.get_running_loop()
        runner = self._runners.get(loop)
        if runner is None:
            open_loops = {one: kept for one, kept in self._runners.items() if not one.is_closed()}
            self._runners = open_loops
            decoder = Decoder(
                self._mutable_model, self._end_ids, self._stop_strings, self._batch_size
            )
            runner = self._runners[loop] = _StepRunner(decoder, self._memo.clear)
        return runner.add(loop, request, len(self._agents))

    def text_of(self, sampled: Sampled) -> str:
        """Return the text of a reply, without the token that ended it."""
        ids = sampled.ids
        if ids and ids[-1] in self._end_ids:
            ids = ids[:-1]
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def join(self, agent: object) -> None:
        """Register an agent that plays: its tokens stay cached between its turns."""
        self._agents.add(agent)

    def leave(self, agent: object) -> None:
        """Remove an agent; with the last one, the cache is dropped.

        A run is therefore independent of earlier runs, to the last bit.
        """
        self._agents.discard(agent)
        if not self._agents:
            self._runners = {}


class _StepRunner:
    """Runs the steps of a decoder in an event loop while there are prompts.

    Args:
        decoder: The decoder.
        before_step: Called before each step.
    """

    def __init__(self, decoder: Decoder, before_step: Callable[[], None]) -> None:
        self._decoder = decoder
        self._before_step = before_step
        self._waiting: deque[Job] = deque()
        self._is_running = False
        self._needed = self._quiet = 0

    def add(
        self, loop: asyncio.AbstractEventLoop, request: Request, episodes: int
    ) -> "asyncio.Future[Sampled]":
        job = Job(request, loop.create_future())
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
            self._step()
        self._is_running = bool(self._waiting) or self._decoder.is_busy
        if self._is_running:
            loop.call_soon(self._iterate, loop)

    def _step(self) -> None:
        self._before_step()
        try:
            ended = self._decoder.step(self._waiting)
        except Exception as error:  # noqa: BLE001 - passed on to every episode of the batch
            for job in self._decoder.abandon():
                if not job.future.done():
                    job.future.set_exception(error)
            self._needed = _QUIET_ITERATIONS
            return
        for job in ended:
            if not job.future.done():
                job.future.set_result(job.sampled())
                self._needed = _QUIET_ITERATIONS


_loaded: dict[tuple[str, str, str], tuple[Any, Any]] = {}
_shared: "weakref.WeakValueDictionary[tuple[int, int, int], LocalModel]" = (
    weakref.WeakValueDictionary()
)
_lock = threading.RLock()


def share_model(model: Any, tokenizer: Any, *, batch_size: int) -> LocalModel:
    """Return the ``LocalModel`` of a model, which equal calls share.

    Args:
        model: A model of transformers or peft.
        tokenizer: Its tokenizer.
        batch_size: Most prompts that are decoded at the same time.
    """
    key = (id(model), id(tokenizer), batch_size)
    with _lock:
        shared = _shared.get(key)
        if shared is None:
            shared = _shared[key] = LocalModel(model, tokenizer, batch_size=batch_size)
        return shared


def load_model(name: str, *, device: str, dtype: str, batch_size: int) -> LocalModel:
    """Return the ``LocalModel`` of a name; the model is loaded at the first call.

    Args:
        name: Name on the hub, or folder.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
        dtype: ``auto``, ``float32``, ``bfloat16``, ...
        batch_size: Most prompts that are decoded at the same time.

    Raises:
        ConfigError: The model cannot be loaded.
    """
    key = (name, device, dtype)
    with _lock:
        if key not in _loaded:
            _loaded[key] = _load(name, device, dtype)
        return share_model(*_loaded[key], batch_size=batch_size)


def _load(name: str, device: str, dtype: str) -> tuple[Any, Any]:
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    found = pretrained_options(name)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **found)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=dtype, **found)
        model.to(device)
    except (OSError, ValueError, RuntimeError, AttributeError) as error:
        raise ConfigError(f"The model {name!r} cannot be loaded to {device}: {error}") from error
    return model.eval(), tokenizer


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    several = configured if isinstance(configured, list) else [configured]
    return frozenset(one for one in (*several, tokenizer.eos_token_id) if one is not None)
