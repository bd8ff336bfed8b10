"""A turn of an agent whose model runs in this process, after some number of turns."""

import asyncio
import random
import tempfile
import time

import torch
import transformers

from gem_agents.local_model import LocalModel
from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.tokens.sampler import Request

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (16, 64, 256)
UNIT = "ms"
TITLE = "a turn with a local model of 0.25 M parameters after n turns"
GROWTH = 0.5  # attention to what is cached

_REPEATS, _NEW, _REPLY, _CONTEXT = 5, 24, 8, 16384


def measure(size: int) -> float:
    """Return the milliseconds of a turn of 24 new and 8 sampled tokens; the least of a few."""
    return asyncio.run(_measure(size))


async def _measure(size: int) -> float:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        save_tiny_model(folder, context=_CONTEXT)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    model, rng, ids = LocalModel(network, tokenizer, batch_size=4), random.Random(0), list[int]()
    model.join(model)
    seconds = []
    for number in range(size + _REPEATS):
        ids += [rng.randrange(10, 250) for _ in range(_NEW)]
        start = time.perf_counter()
        sampled = await model.submit(Request([*ids], _REPLY, seed=number))
        seconds.append((time.perf_counter() - start) / len(sampled.ids) * _REPLY)
        ids += sampled.ids
    return min(seconds[size:]) * 1e3
