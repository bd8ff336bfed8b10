"""Sampling with vLLM's own HTTP server; ``tests/ci/gateway_engine.sh`` installs it."""

import asyncio
import os

import pytest

import gem_core
from gem_agents.errors import BadRequestError, ContextLengthError, UnknownModelError
from gem_agents.openai import OpenAIAgent
from gem_agents.vllm_server import AdapterError, VllmServer
from gem_rollout import collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.sampler import Request

if os.environ.get("GEM_TEST_ENGINE") != "vllm":
    pytest.skip("tests/ci/gateway_engine.sh installs vLLM", allow_module_level=True)

CONTEXT = 2000


@pytest.fixture
def engine():
    from vllm_server import VllmServer as Engine

    with Engine(make_tiny_tokenizer(), lambda _: "some words", context=CONTEXT) as engine:
        yield engine
    assert engine.unknown == []


@pytest.fixture
def sampler(engine):
    return VllmServer(f"{engine.url}/v1", tokenizer=engine.tokenizer)


def ask(sampler, prompt=(5, 6, 7), tokens=40, **options):
    async def submit():
        return await sampler.submit(Request(list(prompt), tokens, **options))

    try:
        return asyncio.run(submit())
    finally:
        sampler.leave(None)


def test_a_sample_has_the_tokens_and_log_probabilities_of_the_engine(engine, sampler):
    for tokens in (40, 2):
        sampled = ask(sampler, tokens=tokens, temperature=0.7, top_p=0.9, seed=2**63 + 5)
        (sample,) = engine.log[-1:]
        assert (sampled.ids, sampled.logprobs) == (sample.ids, sample.logprobs)
        assert sampled.is_complete == (tokens == 40)
        assert sample.prompt_ids == [5, 6, 7]
        asked = {name: sample.body[name] for name in ("temperature", "top_p", "min_p", "seed")}
        assert asked == {"temperature": 0.7, "top_p": 0.9, "min_p": 0.0, "seed": 5}
    assert sampler.text_of(ask(sampler)) == "some words"


def test_a_prompt_that_fills_the_context_is_an_error(engine, sampler):
    assert sampler.context == CONTEXT
    assert len(ask(sampler, prompt=[5] * (CONTEXT - 1)).ids) == 1
    for size in (CONTEXT, CONTEXT + 1):
        with pytest.raises(ContextLengthError):
            ask(sampler, prompt=[5] * size)
    assert len(engine.log) == 1


def test_a_request_for_more_tokens_than_the_context_is_not_a_long_episode(sampler):
    sampler.context = 100_000
    with pytest.raises(BadRequestError, match="max_model_len=2000") as caught:
        ask(sampler, tokens=5000)
    assert not isinstance(caught.value, ContextLengthError)


def test_log_probabilities_of_the_likeliest_tokens_can_be_read(engine, sampler):
    sampler.check_logprobs(0.7)
    assert [one.body["temperature"] for one in engine.log] == [1.0, 0.7]


def test_adapters_are_loaded_by_name_and_those_before_unloaded(engine, sampler, tmp_path):
    assert set(ask(sampler).versions) == {None}
    for version, name in enumerate(("policy-1", "policy-2"), start=1):
        sampler.use_adapters(name, str(tmp_path))
        sampler.version = version
        sampled = ask(sampler)
        assert engine.log[-1].body["model"] == name
        assert sampled.versions == [version] * len(sampled.ids)
    sampler.model = "policy-1"
    with pytest.raises(UnknownModelError, match="policy-1"):
        ask(sampler)
    with pytest.raises(AdapterError, match=r"load_lora_adapter answered 404.*No adapter found"):
        sampler.use_adapters("policy-3", "/no/such/folder")


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_the_agent_openai_records_tokens_and_log_probabilities(api, engine):
    agent = OpenAIAgent(
        model="tiny",
        base_url=f"{engine.url}/v1",
        api_key="any",
        api=api,
        temperature=0.5,
        max_tokens=8,
        seed=1,
        stop=["END"],
        logprobs=True,
        token_ids=True,
    )
    (episode,) = collect(
        lambda: gem_core.make("game:GuessTheNumber-v0-easy"), lambda: agent, episodes=1, seed=0
    )
    assert episode.error is None
    found = [(one.generation.token_ids, one.generation.logprobs) for one in episode.turns]
    assert found == [(one.ids, one.logprobs) for one in engine.log]
    assert [one.generation.prompt_ids for one in episode.turns] == [
        one.prompt_ids for one in engine.log
    ]
