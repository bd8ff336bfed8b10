"""A lack of memory makes a local model's batch smaller, and a bounded cache makes replies wait."""

import asyncio
import functools
import random
from unittest import mock

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_agents.errors import SamplerMemoryError
from gem_agents.kv_cache import SlotKVCache
from gem_agents.local_model import LocalModel
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.sampler import Request

torch.set_num_threads(1)

TOKENIZER = make_tiny_tokenizer()
SIZES = {"vocab_size": len(TOKENIZER), "hidden_size": 32, "initializer_range": 0.2}
ENDS = {"bos_token_id": None, "eos_token_id": 2}
CONFIGS = {
    "qwen3": transformers.Qwen3Config(
        **SIZES,
        **ENDS,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
    ),
    "bloom": transformers.BloomConfig(**SIZES, **ENDS, n_layer=2, n_head=4),
}


@functools.cache
def model_of(name):
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(CONFIGS[name]).eval()


def local_of(name="qwen3", **options):
    return LocalModel(model_of(name), TOKENIZER, **{"batch_size": 8, **options})


def sample(local, *requests):
    async def run():
        return await asyncio.gather(*(local.submit(request) for request in requests))

    return asyncio.run(run())


def tokens(rng, count):
    return [rng.randrange(3, len(TOKENIZER)) for _ in range(count)]


def requests_of(count, seed=0, most=40):
    rng = random.Random(seed)
    return [
        Request(
            tokens(rng, rng.randrange(1, most)), rng.randrange(1, 90), rng.choice([0.0, 1.0]),
            seed=rng.randrange(2**63),
        )
        for _ in range(count)
    ]  # fmt: skip


class OutOfMemory:
    """A hook that raises what torch raises on a GPU, for passes over more than some rows."""

    def __init__(self, model, rows):
        self._handle = model.register_forward_pre_hook(self._check, with_kwargs=True)
        self.rows, self.raised = rows, 0

    def _check(self, _model, _args, kwargs):
        if len(kwargs["input_ids"]) > self.rows:
            self.raised += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._handle.remove()


@pytest.mark.parametrize("name", ["qwen3", "bloom"])  # with a cache, and without
def test_replies_go_on_in_a_smaller_batch_when_memory_runs_out(name):
    requests, wide = requests_of(8), local_of(name)
    expected = sample(wide, *requests)
    local = local_of(name)
    sample(local, *requests_of(2, seed=1))  # the cache is tested before memory runs out
    with OutOfMemory(local.model, rows=3) as memory:
        found = sample(local, *requests)
        assert memory.raised == local.limits.memory_errors > 0
        assert local.limits.rows == 2
        before = memory.raised
        sample(local, *requests)  # the smaller batch is kept
        assert memory.raised == before
    same = [one.ids == other.ids for one, other in zip(found, expected, strict=True)]
    assert sum(same) >= 7  # rounding may change a token that was as likely as another
    assert all(len(one.versions) == len(one.logprobs) == len(one.ids) for one in found)


def test_too_little_memory_for_one_reply_is_an_error_of_this_reply():
    local = local_of()
    with (
        OutOfMemory(local.model, rows=0),
        pytest.raises(SamplerMemoryError, match=r"one reply alone .*2\.00 GiB"),
    ):
        sample(local, *requests_of(3))
    assert sample(local, *requests_of(3))


def test_an_error_before_any_prompt_joins_reaches_those_that_wait():
    local = local_of()
    with (
        mock.patch.object(
            type(local._mutable_model), "evaluating", side_effect=RuntimeError("broken")
        ),
        pytest.raises(RuntimeError, match="broken"),
    ):
        sample(local, *requests_of(3))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**16), steps=st.integers(1, 12))
def test_a_bounded_cache_stays_within_its_bound_and_gives_the_same_replies(seed, steps):
    """Only the cache of a single reply may exceed the bound."""
    bound, requests = 64 * steps, requests_of(10, seed)
    expected = sample(local_of(), *requests)
    reserve, sizes = SlotKVCache.reserve, []

    def noted(cache, rows, capacity):
        reserve(cache, rows, capacity)
        sizes.append((cache.rows, cache.rows * cache.capacity))

    local = local_of(kv_tokens=bound)
    with mock.patch.object(SlotKVCache, "reserve", noted):
        found = [sample(local, *requests), sample(local, *requests)]
    assert all(size <= bound for rows, size in sizes if rows > 1)
    for replies in found:
        assert sum(a.ids == b.ids for a, b in zip(replies, expected, strict=True)) >= 9


def test_replies_that_began_last_wait_while_the_cache_is_full():
    local = local_of(kv_tokens=4 * 64)
    requests = [Request([5 + n] * 20, 200, 1.0, seed=n) for n in range(4)]
    replies = sample(local, *requests)
    assert local.limits.preemptions > 0
    assert all(len(one.ids) == 200 or one.is_complete for one in replies)
