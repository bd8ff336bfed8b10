"""Sampling with vLLM: a server that speaks its API, and its Python interface in this process."""

import asyncio
import sys
import types
from typing import ClassVar

import pytest
import torch
import transformers

import gem_core
from gem_agents.errors import MalformedReplyError, UnknownModelError
from gem_agents.testing.vllm_api import VllmApi
from gem_agents.vllm_agent import VllmAgent
from gem_agents.vllm_engine import VllmEngine
from gem_agents.vllm_server import AdapterError, VllmServer
from gem_core.errors import ConfigError
from gem_rollout import collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_rollout.tokens.sampler import Request

GAME = "game:GuessTheNumber-v0-easy"
PARAMETERS = {
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "max_tokens",
}
"""Everything that vLLM would take from the model's generation_config.json."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("served") / "tiny")


@pytest.fixture
def server(folder):
    with VllmApi(folder, logprobs_mode="processed_logprobs") as server:
        yield server


def logprobs_of(folder, prompt, ids, temperature):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, *ids]])).logits[0] / temperature
    return logits[len(prompt) - 1 : -1].log_softmax(-1)[range(len(ids)), ids]


def test_episodes_have_the_tokens_and_log_probabilities_of_the_policy(folder, server):
    """Turn by turn, each prompt extends the tokens that were sampled."""
    first = VllmAgent(
        model=folder, base_url=server.url, temperature=0.7, max_new_tokens=6, scaled_logprobs=True
    )
    episodes = list(
        collect(
            lambda: gem_core.make(GAME),
            lambda: VllmAgent(
                model=first.sampler, temperature=0.7, max_new_tokens=6, scaled_logprobs=True
            ),
            episodes=4,
            seed=0,
        )
    )
    assert [one.error for one in episodes] == [None] * 4
    for one in episodes:
        seen = []
        for turn in one.turns:
            generation = turn.generation
            seen = [*(seen if generation.extends else []), *generation.prompt_ids]
            expected = logprobs_of(folder, seen, generation.token_ids, 0.7)
            assert torch.tensor(generation.logprobs) == pytest.approx(expected, abs=1e-4)
            seen += generation.token_ids
    assert all(set(body) >= PARAMETERS for body in server.asked)
    assert all(body["top_p"] == 1 and body["top_k"] == -1 for body in server.asked)


def test_log_probabilities_of_another_temperature_are_refused(folder):
    with VllmApi(folder, logprobs_mode="raw_logprobs") as server:
        with pytest.raises(ConfigError, match="--logprobs-mode processed_logprobs"):
            VllmAgent(model=folder, base_url=server.url, temperature=0.7, scaled_logprobs=True)
        VllmAgent(model=folder, base_url=server.url, temperature=1.0, scaled_logprobs=True)
        VllmAgent(model=folder, base_url=server.url, temperature=0.7)


def test_a_server_without_the_model_or_not_there_is_reported(folder, server):
    tokenizer = make_tiny_tokenizer()
    with pytest.raises(ConfigError, match=r"serves .*tiny; got 'large'"):
        VllmServer(server.url, tokenizer=tokenizer, model="large")
    with pytest.raises(AdapterError, match="cannot be reached"):
        VllmServer("http://127.0.0.1:9/v1", tokenizer=tokenizer)
    with pytest.raises(AdapterError, match="load_lora_adapter answered 400"):
        VllmServer(server.url, tokenizer=tokenizer).use_adapters("policy-1", "/no/such/folder")
    sampler = VllmServer(server.url, tokenizer=tokenizer)
    sampler.model = "policy-0"
    with pytest.raises(UnknownModelError, match="policy-0"):
        ask(sampler)


def ask(sampler, prompt=(5, 6, 7), **options):
    async def submit():
        return await sampler.submit(Request(list(prompt), 4, **options))

    try:
        return asyncio.run(submit())
    finally:
        if hasattr(sampler, "leave"):
            sampler.leave(None)


def test_a_server_that_samples_from_other_tokens_is_an_error(server):
    sampler = VllmServer(server.url, tokenizer=make_tiny_tokenizer())
    body = sampler.body
    sampler.body = lambda request: body(request) | {"prompt": [1, 2]}
    with pytest.raises(MalformedReplyError, match="2 tokens that are not the 3 of the prompt"):
        ask(sampler)
    sampler.body = lambda request: body(request) | {"return_token_ids": False}
    with pytest.raises(MalformedReplyError, match="no token ids"):
        ask(sampler)


def test_options_of_an_engine_do_not_reach_a_server(folder):
    with pytest.raises(ConfigError, match="belong to its command line"):
        VllmAgent(model=folder, base_url="http://127.0.0.1:9/v1", engine={"dtype": "bfloat16"})


class Engine:
    """The documented interface of ``vllm.AsyncLLMEngine``, as far as it is used."""

    made: ClassVar = []

    def __init__(self, arguments):
        self.arguments, self.asked, self.loops = arguments, [], set()
        self.called, self.is_idle = [], True
        self.model_config = types.SimpleNamespace(max_model_len=64)
        Engine.made.append(self)

    @classmethod
    def from_engine_args(cls, arguments):
        asyncio.get_running_loop()
        return cls(arguments)

    async def generate(self, prompt, sampling_params, request_id, lora_request=None):
        self.loops.add(asyncio.get_running_loop())
        self.asked.append((prompt, sampling_params, request_id, lora_request))
        await asyncio.sleep(0)
        for count in (1, 3):
            ids = [11, 12, 2][:count]
            logprobs = [{one: types.SimpleNamespace(logprob=-one / 10)} for one in ids]
            reply = types.SimpleNamespace(
                token_ids=ids, logprobs=logprobs, finish_reason="stop" if count == 3 else None
            )
            yield types.SimpleNamespace(outputs=[reply])

    async def collective_rpc(self, method, *, args=(), kwargs=None):
        self.loops.add(asyncio.get_running_loop())
        self.called.append((method, kwargs))

    async def reset_prefix_cache(self):
        self.called.append(("reset_prefix_cache", None))
        return self.is_idle

    def shutdown(self):
        pass


@pytest.fixture
def vllm(monkeypatch):
    """vLLM needs a GPU, so a module with its documented names stands for it."""
    module, lora = types.ModuleType("vllm"), types.ModuleType("vllm.lora.request")
    module.AsyncLLMEngine = Engine
    module.AsyncEngineArgs = lambda **options: options
    module.SamplingParams = lambda **options: options
    lora.LoRARequest = lambda name, number, path: (name, number, path)
    for name, one in (("vllm", module), ("vllm.lora.request", lora)):
        monkeypatch.setitem(sys.modules, name, one)
    return module


def test_the_engine_samples_in_a_loop_of_its_own_with_the_newest_adapters(vllm):
    engine = VllmEngine("base", tokenizer=make_tiny_tokenizer(), options={"max_lora_rank": 16})
    try:
        made = Engine.made[-1]
        assert made.arguments == {
            "model": "base",
            "enable_lora": True,
            "logprobs_mode": "processed_logprobs",
            "generation_config": "vllm",
            "max_lora_rank": 16,
        }
        first = ask(engine, temperature=0.5, seed=3, stop=("!",))
        engine.use_adapters("policy-a-000001", "/adapters/1")
        engine.use_adapters("policy-a-000002", "/adapters/2")
        engine.version = 2
        assert ask(engine).versions == [2, 2, 2]
        assert (first.ids, first.logprobs, first.is_complete) == (
            [11, 12, 2],
            [-1.1, -1.2, -0.2],
            True,
        )
        prompt, parameters, _, adapters = made.asked[0]
        assert prompt == {"prompt_token_ids": [5, 6, 7]}
        assert set(parameters) >= PARAMETERS
        assert (parameters["temperature"], parameters["seed"]) == (0.5, 3)
        assert adapters is None
        name, number, path = made.asked[1][3]
        assert (name, path) == ("policy-a-000002", "/adapters/2")
        assert number > 0
        assert len(made.loops) == 1
        assert len({one[2] for one in made.asked}) == 2
    finally:
        engine.close()


def test_agents_with_the_same_arguments_share_an_engine(vllm, folder):
    """The preflight of a run makes one more agent, and a second engine would have no memory."""
    before = len(Engine.made)
    agents = [VllmAgent(model=folder), VllmAgent(model=folder)]
    other = VllmAgent(model=folder, engine={"max_model_len": 32})
    try:
        assert agents[0].sampler is agents[1].sampler is not other.sampler
        agents[0].close()
        assert VllmAgent(model=folder).sampler is agents[1].sampler
        assert len(Engine.made) == before + 2
    finally:
        agents[1].sampler.close()
        other.sampler.close()
    last = VllmAgent(model=folder).sampler
    assert last.is_open
    last.close()


def test_all_weights_are_loaded_in_place_and_the_cache_of_the_old_ones_is_dropped(vllm):
    options = {"enable_lora": False}
    engine = VllmEngine("base", tokenizer=make_tiny_tokenizer(), options=options)
    try:
        made = Engine.made[-1]
        assert made.arguments["enable_lora"] is False
        engine.use_weights("/weights/1")
        ask(engine)
        assert made.called == [
            ("reload_weights", {"weights_path": "/weights/1"}),
            ("reset_prefix_cache", None),
        ]
        assert made.asked[0][3] is None
        assert len(made.loops) == 1
        made.is_idle = False
        with pytest.raises(RuntimeError, match="still sampling"):
            engine.use_weights("/weights/2")
    finally:
        engine.close()


def test_options_that_contradict_training_are_refused_and_missing_vllm_is_reported(
    vllm, monkeypatch
):
    for name in ("logprobs_mode", "model", "generation_config"):
        with pytest.raises(ConfigError, match=name):
            VllmEngine("base", tokenizer=make_tiny_tokenizer(), options={name: "x"})
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ConfigError, match=r"sampling\.engine\.server"):
        VllmEngine("base", tokenizer=make_tiny_tokenizer())
