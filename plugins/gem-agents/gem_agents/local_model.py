"""A transformers model in this process, shared by all agents that ask for it.

A thread gathers the requests of episodes that run at once into batches. It runs while there is
something to do.
"""

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, NamedTuple

from gem_agents.sampling import Request, Sampled, sample
from gem_core.errors import ConfigError

__all__ = ["Done", "LocalModel", "load_model"]


class Done(NamedTuple):
    """An answer of the model.

    Args:
        sampled: What it sampled.
        queue_seconds: Wall time until its batch began.
        model_seconds: Wall time of the batch.
    """

    sampled: Sampled
    queue_seconds: float
    model_seconds: float


class _Waiting(NamedTuple):
    request: Request
    future: "Future[Done]"
    since: float


class LocalModel:
    """A model, its tokenizer, and a queue.

    Args:
        model: The model of transformers.
        tokenizer: Its tokenizer.
        batch_size: Most prompts in a batch.
        batch_window: Seconds to wait for a batch to fill.
    """

    def __init__(self, model: Any, tokenizer: Any, *, batch_size: int, batch_window: float) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.context: int = getattr(model.config, "max_position_embeddings", None) or 2**31
        self._end_ids = _end_ids(model, tokenizer)
        pad_id = tokenizer.pad_token_id
        self._pad_id: int = min(self._end_ids, default=0) if pad_id is None else pad_id
        self._batch_size = batch_size
        self._batch_window = batch_window
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._is_working = False

    def submit(self, request: Request) -> "Future[Done]":
        """Queue a prompt, and return where its answer will be."""
        future: Future[Done] = Future()
        with self._changed:
            self._waiting.append(_Waiting(request, future, time.perf_counter()))
            self._changed.notify()
            if not self._is_working:
                self._is_working = True
                threading.Thread(target=self._work, name="gem-local-model", daemon=True).start()
        return future

    def text_of(self, sampled: Sampled) -> str:
        """Return what was sampled as text, without the token that ended it."""
        ids = sampled.ids[:-1] if sampled.is_complete else sampled.ids
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def _work(self) -> None:
        while True:
            batch = self._next_batch()
            if not batch:
                return
            self._answer([one for one in batch if one.future.set_running_or_notify_cancel()])

    def _next_batch(self) -> list[_Waiting]:
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._waiting) >= self._batch_size, timeout=self._batch_window
            )
            count = min(len(self._waiting), self._batch_size)
            self._is_working = bool(count)
            return [self._waiting.popleft() for _ in range(count)]

    def _answer(self, batch: list[_Waiting]) -> None:
        if not batch:
            return
        began = time.perf_counter()
        try:
            results = sample(
                self.model,
                [one.request for one in batch],
                end_ids=self._end_ids,
                pad_id=self._pad_id,
            )
        except Exception as error:  # noqa: BLE001 - out of memory for example; each episode's error
            for one in batch:
                one.future.set_exception(error)
            return
        seconds = time.perf_counter() - began
        for one, sampled in zip(batch, results, strict=True):
            one.future.set_result(Done(sampled, began - one.since, seconds))


_models: dict[tuple[Any, ...], LocalModel] = {}
_loading = threading.Lock()


def load_model(
    name: str, *, device: str, dtype: str, batch_size: int, batch_window: float
) -> LocalModel:
    """Return the model, loaded at the first call with the same arguments.

    Args:
        name: Name on the hub, or folder.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...
        dtype: ``auto``, ``float32``, ``bfloat16``, ...
        batch_size: Most prompts in a batch.
        batch_window: Seconds to wait for a batch to fill.

    Raises:
        ConfigError: torch or transformers is missing, or the model cannot be loaded.
    """
    key = (name, device, dtype, batch_size, batch_window)
    with _loading:
        if key not in _models:
            model, tokenizer = _load(name, device, dtype)
            _models[key] = LocalModel(
                model, tokenizer, batch_size=batch_size, batch_window=batch_window
            )
        return _models[key]


def _load(name: str, device: str, dtype: str) -> tuple[Any, Any]:
    import torch  # noqa: PLC0415 - seconds; the agent's module is imported to check parameters
    import transformers  # noqa: PLC0415 - likewise

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
    configured = getattr(model.generation_config, "eos_token_id", None)
    several = configured if isinstance(configured, list) else [configured]
    return frozenset(one for one in (*several, tokenizer.eos_token_id) if one is not None)
