"""A gateway whose model is an adapter (LoRA) that vLLM has loaded."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gem_serve.gateway.testing.http import post

if os.environ.get("GEM_TEST_ENGINE") != "vllm":
    pytest.skip("tests/ci/gateway_engine.sh installs vLLM", allow_module_level=True)


@pytest.mark.parametrize("mode", ["engine", "continue"])
def test_an_adapter_of_vllm_has_the_context_of_its_model(
    mode: str, start_engine: Callable[..., Any], start_gateway: Callable[..., Any], tmp_path: Path
) -> None:
    engine = start_engine(context=300)
    adapter = {"lora_name": "policy-1", "lora_path": str(tmp_path)}
    assert post(f"{engine.url}/v1/load_lora_adapter", adapter).status == 200
    gateway = start_gateway(engine.url, engine={"kind": "vllm", "model": "policy-1"})
    episode = gateway.admin.create(mode=mode)
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "max_tokens": 32_000}
    assert post(f"{episode.openai_url}/chat/completions", body).status == 200
    asked = engine.log[0].body
    assert asked["model"] == "policy-1"
    assert asked["max_tokens"] <= 300
