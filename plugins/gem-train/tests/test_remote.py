"""Adapters are sent to a server that samples: a real HTTP server, which records its requests."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from models import trainer_of, weights_of
from needs import needs

from gem_agents.testing.endpoint_server import EndpointServer
from gem_core import make_agent
from gem_core.errors import ConfigError, DataError
from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.policy import Policy
from gem_train.remote import AdapterPush, PushError


class _Server(BaseHTTPRequestHandler):
    """The relevant behaviour of vLLM: an adapter has one name, and is read when it is loaded."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        loaded = self.server.loaded
        name, answer = body["lora_name"], 200
        if self.path == "/v1/load_lora_adapter":
            if name in loaded or not Path(body["lora_path"], "adapter_config.json").is_file():
                answer = 400
            loaded[name] = body["lora_path"]
        elif self.path == "/v1/unload_lora_adapter":
            answer = 200 if loaded.pop(name, None) else 404
        self.send_response(answer)
        self.end_headers()
        self.wfile.write(b"as asked" if answer == 200 else b"no such thing")

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), _Server) as server:
        server.loaded = {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def policy(tmp_path):
    needs("peft")
    return Policy.load(save_tiny_model(tmp_path / "model"), device="cpu", lora={"r": 2})


def test_the_server_has_the_adapters_of_the_last_step_and_no_others_stay(server, policy, tmp_path):
    push = AdapterPush(f"http://127.0.0.1:{server.server_port}/v1/", tmp_path / "adapters")
    for step in range(3):
        push(policy, step)
    assert server.loaded == {"policy": str(tmp_path / "adapters" / "000002")}
    assert [one.name for one in (tmp_path / "adapters").iterdir()] == ["000002"]


def test_a_server_that_refuses_or_is_not_there_is_reported(server, policy, tmp_path):
    url = f"http://127.0.0.1:{server.server_port}/v1"
    server.loaded["policy"] = "another run's"
    with pytest.raises(PushError, match="load_lora_adapter answered 400: no such thing"):
        AdapterPush(url, tmp_path / "adapters")(policy, 0)
    with pytest.raises(PushError, match="cannot be reached"):
        AdapterPush("http://127.0.0.1:9/v1", tmp_path / "adapters")(policy, 0)


def test_a_model_without_adapters_is_refused(server, tmp_path):
    policy = Policy.load(save_tiny_model(tmp_path / "model"), device="cpu")
    with pytest.raises(ConfigError, match="set lora"):
        AdapterPush("http://127.0.0.1:9/v1", tmp_path)(policy, 0)


def test_a_policy_learns_from_what_an_endpoint_sampled(tmp_path):
    """The tokens of the endpoint are bytes, which are in the model's vocabulary."""
    steps = []
    with EndpointServer(reply=["\\boxed{5}", "\\boxed{2}", "no box"]) as endpoint:
        trainer = trainer_of(
            save_tiny_model(tmp_path / "model"),
            tmp_path / "run",
            steps=2,
            make_agent=lambda: make_agent(
                "openai",
                model="policy",
                base_url=endpoint.url,
                api_key="any",
                logprobs=True,
                token_ids=True,
            ),
            after_step=lambda policy, step: steps.append((step, weights_of(policy))),
        )
        assert trainer.train()
    assert [step for step, _ in steps] == [0, 1, 2]
    name = next(iter(steps[0][1]))
    assert not any(steps[n][1][name].equal(steps[n + 1][1][name]) for n in range(2))
    assert trainer.metrics["train/sampler_gap"] > 0.1


def test_an_endpoint_that_returns_no_token_ids_is_reported(tmp_path):
    with (
        EndpointServer(reply="\\boxed{5}") as endpoint,
        pytest.raises(DataError, match="token ids"),
    ):
        trainer_of(
            save_tiny_model(tmp_path / "model"),
            tmp_path / "run",
            make_agent=lambda: make_agent(
                "openai", model="policy", base_url=endpoint.url, api_key="any"
            ),
        ).train()
