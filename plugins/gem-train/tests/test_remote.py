"""Sampling with vLLM in training: a server that speaks its API, and agents of endpoints."""

import pytest
import torch
from models import trainer_of, weights_of
from needs import needs

from gem_agents.testing.endpoint_server import EndpointServer
from gem_agents.testing.vllm_api import VllmApi
from gem_core import make_agent
from gem_core.errors import ConfigError, DataError, GemError
from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.errors import SamplerGapError
from gem_train.policy import Policy

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def server(folder):
    needs("peft")
    with VllmApi(folder, logprobs_mode="processed_logprobs") as server:
        yield server


def remote_of(folder, out, server, **config):
    return trainer_of(
        folder,
        out,
        algo={"id": "reinforce"},  # learns from equal returns too
        lora={"r": 4},
        sampling={
            "engine": {"id": "vllm", "server": server.url},
            "temperature": 0.8,
            "max_gap": 1e-3,
        },
        optim={"lr": 0.05},
        **config,
    )


def test_a_policy_learns_from_what_a_server_sampled_with_its_adapters(folder, server, tmp_path):
    """The learning rate is so large that the adapters of another step would show."""
    trainer = remote_of(folder, tmp_path / "run", server, steps=3, eval={"every": 3, "episodes": 4})
    assert trainer.train()
    assert trainer.metrics["train/mean_sampler_gap"] < 1e-3
    assert trainer.metrics["train/sampler_gap"] < 1e-2
    names = [name.rpartition("-")[2] for name in server.loads]
    assert names == ["000000", "000001", "000002", "000003"]
    assert list(server.loaded) == server.loads[-1:]
    assert len(list((tmp_path / "run" / "engine").iterdir())) == 1
    assert all(body["temperature"] == 0.8 for body in server.asked[2:])


def test_a_server_that_keeps_old_adapters_ends_the_run_before_it_learns(folder, server, tmp_path):
    """As vLLM does with adapters that are loaded under an old name."""
    trainer = remote_of(folder, tmp_path / "run", server, steps=4, checkpoint={"every": 1})
    sampler = trainer._sampling.engine.sampler
    use = sampler.use_adapters
    sampler.use_adapters = lambda name, path: None if server.loads else use(name, path)
    with pytest.raises(SamplerGapError, match=r"more than sampling\.max_gap=0\.001: .*not applied"):
        trainer.train()
    assert trainer.step >= 1
    kept = Policy.load(folder, device="cpu", lora={"r": 4})
    kept.load_weights(tmp_path / "run" / "checkpoints" / f"{trainer.step:06d}")
    for name, one in weights_of(trainer.policy).items():
        assert torch.equal(kept.trained_state()[name], one)


def test_log_probabilities_of_another_temperature_are_refused_at_the_start(folder, tmp_path):
    needs("peft")
    with (
        VllmApi(folder, logprobs_mode="raw_logprobs") as server,
        pytest.raises(ConfigError, match="processed_logprobs"),
    ):
        remote_of(folder, tmp_path / "run", server)


@pytest.mark.parametrize(
    ("sampling", "text"),
    [
        ({"engine": {"id": "vllm", "server": "http://x/v1"}}, "set lora"),
        ({"engine": "vllm", "top_p": 0.9}, "contradicts"),
        ({"engine": {"id": "vllm", "kv_tokens": 9}}, "kv_tokens"),
        ({"engine": "vlm"}, "Did you mean 'vllm'"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(folder, tmp_path, sampling, text):
    with pytest.raises(GemError, match=text):
        trainer_of(folder, tmp_path / "run", sampling=sampling)


def endpoint_trainer(tmp_path, endpoint, max_gap, **options):
    return trainer_of(
        save_tiny_model(tmp_path / "model"),
        tmp_path / "run",
        steps=2,
        sampling={"max_gap": max_gap},
        make_agent=lambda: make_agent(
            "openai", model="policy", base_url=endpoint.url, api_key="any", **options
        ),
    )


def test_a_policy_learns_from_what_an_endpoint_sampled(tmp_path):
    """The tokens of the endpoint are bytes, which are in the model's vocabulary."""
    with EndpointServer(reply=["\\boxed{5}", "\\boxed{2}", "no box"]) as endpoint:
        trainer = endpoint_trainer(tmp_path, endpoint, None, logprobs=True, token_ids=True)
        before = weights_of(trainer.policy)
        assert trainer.train()
    assert not all(
        torch.equal(before[name], one) for name, one in weights_of(trainer.policy).items()
    )
    assert trainer.metrics["train/mean_sampler_gap"] > 0.1


def test_a_sampler_of_another_policy_ends_the_run(tmp_path):
    with (
        EndpointServer(reply=["\\boxed{5}", "\\boxed{2}", "no box"]) as endpoint,
        pytest.raises(SamplerGapError, match="other weights, another temperature"),
    ):
        endpoint_trainer(tmp_path, endpoint, 0.1, logprobs=True, token_ids=True).train()


def test_an_endpoint_that_returns_no_token_ids_is_reported(tmp_path):
    with (
        EndpointServer(reply="\\boxed{5}") as endpoint,
        pytest.raises(DataError, match="token ids"),
    ):
        endpoint_trainer(tmp_path, endpoint, 0.1).train()
