"""A tokenizer, an engine and a gateway for the tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest


@pytest.fixture(scope="session")
def gateway_tokenizer() -> Any:
    pytest.importorskip("transformers")
    from gem_rollout.models.tiny_model import make_tiny_tokenizer

    return make_tiny_tokenizer()


@pytest.fixture
def kind() -> str:
    """Return the kind of the engine; tests that run with each kind are parametrized with it."""
    return "vllm"


@pytest.fixture
def start_engine(gateway_tokenizer: Any, kind: str) -> Iterator[Callable[..., Any]]:
    from gem_serve.gateway.testing.engine import TestEngine, adding

    make = TestEngine
    if kind == "sglang" == os.environ.get("GEM_TEST_ENGINE"):
        import sglang_kernels  # noqa: F401 - before SGLang
        from sglang_server import SglangServer

        make = SglangServer
    if kind == "vllm" == os.environ.get("GEM_TEST_ENGINE"):
        from vllm_server import VllmServer

        make = VllmServer
    with ExitStack() as stack:
        yield lambda script=adding, **options: stack.enter_context(
            make(gateway_tokenizer, script, kind=kind, **options)
        )


@pytest.fixture
def start_gateway(kind: str) -> Iterator[Callable[..., Any]]:
    from gem_serve.gateway.serving import GatewayThread

    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(
            GatewayThread(*args, **{"engine": {"kind": kind}, **options})
        )
