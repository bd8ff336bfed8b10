"""A tokenizer, an engine and a gateway for the tests."""

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
def start_engine(gateway_tokenizer: Any) -> Iterator[Callable[..., Any]]:
    from gem_serve.gateway.testing.engine import TestEngine, adding

    with ExitStack() as stack:
        yield lambda script=adding, **options: stack.enter_context(
            TestEngine(gateway_tokenizer, script, **options)
        )


@pytest.fixture
def start_gateway() -> Iterator[Callable[..., Any]]:
    from gem_serve.gateway.serving import GatewayThread

    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(GatewayThread(*args, **options))
