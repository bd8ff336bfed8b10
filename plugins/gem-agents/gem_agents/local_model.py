"""A transformers model in this process, shared by all agents that have the same one.

Prompts are futures of the event loop that asks for them, and the model works in that loop, one
step at a time: the loop first runs until nothing more comes of what was answered before. It is
turns of the loop that are counted, not seconds, so where nothing else waits for time to pass, the
same run has the same batches and the same tokens.
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
from gem_agents.live_model import LiveModel
from gem_agents.sampler import Request, Sampled
from gem_agents.stop_strings import StopStrings
from gem_core.errors import ConfigError

__all__ = ["LocalModel", "load_model", "share_model"]

_QUIET = 8
"""Turns of the loop without a new prompt, after which none comes of what was answered.

An episode that ends and the next one that begins are six turns apart in ``collect``.
"""


class LocalModel:
    """A model, its tokenizer, and what waits for it.

    Args:
        model: The model of transformers, or of peft; its weights may change between steps.
        tokenizer: Its tokenizer.
        batch_size: Most prompts that are decoded at once.
    """

    def __init__(self, model: Any, tokenizer: Any, *, batch_size: int) -> None:
        self.model = model
        self.tokenizer = tokenizer
        config = model.config.get_text_config()
        self.context: int = getattr(config, "max_position_embeddings", None) or 2**31
        self._end_ids = _end_ids(model, tokenizer)
        self._batch_size = batch_size
        self._live_model = LiveModel(model)
        self._stop_strings = StopStrings(tokenizer)
        self._players: weakref.WeakSet[Any] = weakref.WeakSet()
        self._pumps: dict[asyncio.AbstractEventLoop, _Pump] = {}
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what a function makes of prompts that come at one moment.

        Episodes of a group have the same prompts. Nothing is kept any longer, as a tokenizer may
        change.

        Args:
            key: What decides what it makes; not to be changed.
            make: Makes it, where nobody has yet.
        """
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = make()
        return made

    def submit(self, request: Request) -> "asyncio.Future[Sampled]":
        """Queue a prompt in the running event loop, and return where its answer will be."""
        loop = asyncio.get_running_loop()
        pump = self._pumps.get(loop)
        if pump is None:
            self._pumps = {one: kept for one, kept in self._pumps.items() if not one.is_closed()}
            decoder = Decoder(self._live_model, self._end_ids, self._stop_strings, self._batch_size)
            pump = self._pumps[loop] = _Pump(decoder, self._made.clear)
        return pump.add(loop, request, len(self._players))

    def text_of(self, sampled: Sampled) -> str:
        """Return what was sampled as text, without the token that ended it."""
        ids = sampled.ids
        if ids and ids[-1] in self._end_ids:
            ids = ids[:-1]
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def join(self, agent: object) -> None:
        """Note that an agent plays: what its turns have in common stays cached."""
        self._players.add(agent)

    def leave(self, agent: object) -> None:
        """Note that an agent has stopped; with the last one, all that is cached is dropped.

        So a run does not depend, not even in its last digits, on the runs before it.
        """
        self._players.discard(agent)
        if not self._players:
            self._pumps = {}


class _Pump:
    """Lets a decoder work in an event loop while there is something to do.

    Args:
        decoder: The decoder.
        begin: Called when it begins to work.
    """

    def __init__(self, decoder: Decoder, begin: Callable[[], None]) -> None:
        self._decoder = decoder
        self._begin = begin
        self._waiting: deque[Job] = deque()
        self._is_running = False
        self._needed = self._quiet = 0

    def add(
        self, loop: asyncio.AbstractEventLoop, request: Request, episodes: int
    ) -> "asyncio.Future[Sampled]":
        job = Job(request, loop.create_future())
        self._decoder.episodes = episodes
        self._waiting.append(job)
        self._needed, self._quiet = _QUIET, 0
        if not self._is_running:
            self._is_running = True
            loop.call_soon(self._turn, loop)
        return job.future

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do a step if nothing new has come for some turns of the loop."""
        self._quiet += 1
        if self._quiet > self._needed:
            self._needed = self._quiet = 0
            self._step()
        self._is_running = bool(self._waiting) or self._decoder.is_busy
        if self._is_running:
            loop.call_soon(self._turn, loop)

    def _step(self) -> None:
        self._begin()
        try:
            ended = self._decoder.step(self._waiting)
        except Exception as error:  # noqa: BLE001 - out of memory for example; each episode's error
            for job in self._decoder.abandon():
                if not job.future.done():
                    job.future.set_exception(error)
            self._needed = _QUIET
            return
        for job in ended:
            if not job.future.done():
                job.future.set_result(job.sampled())
                self._needed = _QUIET


_loaded: dict[tuple[str, str, str], tuple[Any, Any]] = {}
_shared: "weakref.WeakValueDictionary[tuple[int, int, int], LocalModel]" = (
    weakref.WeakValueDictionary()
)
_lock = threading.RLock()


def share_model(model: Any, tokenizer: Any, *, batch_size: int) -> LocalModel:
    """Return what samples from a model: the same for all that ask for the same.

    Args:
        model: The model of transformers, or of peft.
        tokenizer: Its tokenizer.
        batch_size: Most prompts that are decoded at once.
    """
    key = (id(model), id(tokenizer), batch_size)
    with _lock:
        shared = _shared.get(key)
        if shared is None:
            shared = _shared[key] = LocalModel(model, tokenizer, batch_size=batch_size)
        return shared


def load_model(name: str, *, device: str, dtype: str, batch_size: int) -> LocalModel:
    """Return a model that is loaded at the first call with the same arguments.

    Args:
        name: Name on the hub, or folder.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
        dtype: ``auto``, ``float32``, ``bfloat16``, ...
        batch_size: Most prompts that are decoded at once.

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
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
        model.to(device)
    except (OSError, ValueError, RuntimeError, AttributeError) as error:
        raise ConfigError(f"The model {name!r} cannot be loaded to {device}: {error}") from error
    return model.eval(), tokenizer


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    several = configured if isinstance(configured, list) else [configured]
    return frozenset(one for one in (*several, tokenizer.eos_token_id) if one is not None)
