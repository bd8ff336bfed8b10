"""Measures what the sampler of ``gem-agents`` adds to a model's own forward passes.

All rows are decoded together, as in a training step, and the figures are medians over the decoding
steps of a run: the whole step, and the forward pass of the model inside it. Without ``--model``,
the model is tiny and has random weights, so that Python takes most of the time.

Examples:
  python benchmarks/run.py sampling
  python benchmarks/run.py sampling --model smollm2 --rows 16 32 --threads 1
  python benchmarks/run.py sampling --model smollm2 --rows 256 --device cuda --dtype bfloat16
"""

import argparse
import asyncio
import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any
from unittest import mock

import torch
import transformers
from common.output import machine, number, table, write
from torch.overrides import TorchFunctionMode

from gem_agents.decoder import Decoder
from gem_agents.local_model import LocalModel, load_model
from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.tokens.sampler import Request

__all__ = ["add_arguments", "run"]

_WAITING = {
    *("item", "tolist", "cpu", "nonzero", "equal", "__bool__", "__int__", "__float__"),
    *("tensor", "from_numpy"),  # what they make is copied to the device
}
"""Functions of torch that wait for the device, in which their tensors may be."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--model", help="folder or name; a tiny model by default")
    parser.add_argument("--rows", nargs="+", type=int, default=[64, 256], help="of the batch")
    parser.add_argument("--prompt", type=int, default=128, help="tokens of the longest prompt")
    parser.add_argument("--new-tokens", type=int, default=64, help="most tokens of a reply")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--rounds", type=int, default=3)


def run(options: argparse.Namespace) -> None:
    """Measure."""
    torch.set_num_threads(options.threads)
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        name = options.model or save_tiny_model(folder, hidden=32, layers=30)
        found = [
            {"rows": rows, "round": number, **_measured(name, rows, options)}
            for rows in options.rows
            for number in range(options.rounds)
        ]
    about = (
        f"{options.model or 'A tiny model with random weights'}, {options.device}, "
        f"{options.dtype}, {options.threads} threads, torch {torch.__version__}, transformers "
        f"{transformers.__version__}; {machine()}. Prompts of {options.prompt // 2} to "
        f"{options.prompt} tokens, replies of {options.new_tokens // 2} to {options.new_tokens}. "
        f"A step samples a token of each row; the forward pass inside it is the model's own."
    )
    write(options.output, "sampling", "Sampling", [about, _table(found, options.rows)], found)


def _table(found: Sequence[dict[str, Any]], sizes: Sequence[int]) -> str:
    names = ("step", "forward", "ratio", "tokens", "syncs")
    rows = []
    for size in sizes:
        of_size = [one for one in found if one["rows"] == size]
        rows.append([str(size), *(number(median(one[name] for one in of_size)) for name in names)])
    headings = ("rows", "step, ms", "forward pass, ms", "ratio", "tokens/s", "waits for the device")
    return table(headings, rows)


def _measured(name: str, rows: int, options: argparse.Namespace) -> dict[str, float]:
    local = load_model(name, device=options.device, dtype=options.dtype, batch_size=rows)
    asyncio.run(_play(local, rows, options))  # warm-up
    clock = _Clock(options.device)
    with clock.timing(local.model):
        start = time.perf_counter()
        tokens = asyncio.run(_play(local, rows, options))
        seconds = time.perf_counter() - start
    step, forward = (median(one[place] for one in clock.steps) * 1e3 for place in (0, 1))
    ratio = sum(one[0] for one in clock.steps) / sum(one[1] for one in clock.steps)
    waits = _Waits()
    with waits.counting(local.model):
        asyncio.run(_play(local, rows, options))
    return {
        "step": step,
        "forward": forward,
        "ratio": ratio,
        "tokens": tokens / seconds,
        "syncs": waits.count / len(clock.steps),
    }


async def _play(local: LocalModel, rows: int, options: argparse.Namespace) -> int:
    """Sample a reply for each row; return the number of tokens."""
    rng, most = random.Random(rows), local.model.config.get_text_config().vocab_size
    local.join(local)
    try:
        replies = [
            local.submit(
                Request(
                    [rng.randrange(10, most) for _ in range(_between(options.prompt, rng))],
                    _between(options.new_tokens, rng),
                    seed=number,
                )
            )
            for number in range(rows)
        ]
        return sum(len(one.ids) for one in await asyncio.gather(*replies))
    finally:
        local.leave(local)


def _between(most: int, rng: random.Random) -> int:
    return rng.randint(most // 2, most)


class _Waits(TorchFunctionMode):  # type: ignore[misc] # torch is not read by mypy
    """Counts calls that wait for the device of their tensors, outside forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Count a function, and run it."""
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        self.count += name in _WAITING
        return function(*args, **kwargs)

    @contextlib.contextmanager
    def counting(self, model: Any) -> Iterator[None]:
        """Count the calls inside."""
        forward = model.forward

        def uncounted(*args: Any, **kwargs: Any) -> Any:
            before = self.count
            out = forward(*args, **kwargs)
            self.count = before
            return out

        with self, mock.patch.object(model, "forward", uncounted):
            yield


class _Clock:
    """Times the decoding steps of all decoders, and the forward passes of a model inside them.

    Args:
        device: The device; a time includes waiting for it.
    """

    def __init__(self, device: str) -> None:
        self.steps: list[tuple[float, float]] = []
        """Seconds of each step, and of its forward pass."""
        self._wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None

    @contextlib.contextmanager
    def timing(self, model: Any) -> Iterator[None]:
        """Time what is decoded inside."""
        step, forward, passes = Decoder.step, model.forward, list[tuple[float, int]]()

        def timed_forward(*args: Any, **kwargs: Any) -> Any:
            seconds, out = self._timed(lambda: forward(*args, **kwargs))
            passes.append((seconds, kwargs["input_ids"].shape[1]))
            return out

        def timed_step(decoder: Decoder, waiting: Any) -> Any:
            passes.clear()
            seconds, ended = self._timed(lambda: step(decoder, waiting))
            if len(passes) == 1 and passes[0][1] == 1:  # others compute prompts
                self.steps.append((seconds, passes[0][0]))
            return ended

        with (
            mock.patch.object(Decoder, "step", timed_step),
            mock.patch.object(model, "forward", timed_forward),
        ):
            yield

    def _timed(self, function: Callable[[], Any]) -> tuple[float, Any]:
        self._wait()
        start = time.perf_counter()
        result = function()
        self._wait()
        return time.perf_counter() - start, result
