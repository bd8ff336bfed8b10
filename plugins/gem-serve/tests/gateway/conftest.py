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


_OF_ENGINE = ("script", "canonical", "faults", "chunk", "context")


class Shared:
    """A scripted engine of each kind with a gateway, for all tests that can share them.

    Attributes:
        gateways: The gateways by the URL of their engine.
    """

    def __init__(self, tokenizer: Any, stack: ExitStack) -> None:
        self._tokenizer, self._stack = tokenizer, stack
        self._engines: dict[str, Any] = {}
        self.gateways: dict[str, Any] = {}

    def engine(
        self, kind: str, script: Any, *, canonical: bool = False, faults: Any = (), chunk: int = 1
    ) -> Any:
        """Return the engine of a kind, as good as new."""
        from gem_serve.gateway.serving import GatewayThread
        from gem_serve.gateway.testing.engine import TestEngine

        if kind not in self._engines:
            engine = self._stack.enter_context(TestEngine(self._tokenizer, script, kind=kind))
            gateway = self._stack.enter_context(GatewayThread(engine.url, engine={"kind": kind}))
            self._engines[kind], self.gateways[engine.url] = engine, gateway
        engine = self._engines[kind]
        engine.script, engine.canonical, engine.chunk = script, canonical, chunk
        engine.faults.next[:] = faults
        engine.aborted = 0
        engine.log.clear()
        engine.held.set()
        return engine


@pytest.fixture(scope="session")
def shared(gateway_tokenizer: Any) -> Iterator[Shared]:
    with ExitStack() as stack:
        yield Shared(gateway_tokenizer, stack)


@pytest.fixture
def start_engine(gateway_tokenizer: Any, kind: str, shared: Shared) -> Iterator[Callable[..., Any]]:
    """Return a function that starts an engine, or makes the shared one as good as new."""
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

        def start(script: Any = adding, **options: Any) -> Any:
            if make is TestEngine and "context" not in options:  # gateways remember the context
                return shared.engine(kind, script, **options)
            made = make(gateway_tokenizer, script, kind=kind, **options)
            return stack.enter_context(made)

        yield start


@pytest.fixture
def start_gateway(kind: str, shared: Shared) -> Iterator[Callable[..., Any]]:
    """Return a function that starts a gateway, or returns that of the shared engine."""
    from gem_serve.gateway.serving import GatewayThread

    with ExitStack() as stack:

        def start(url: str, folder: Any = None, *, own: bool = False, **options: Any) -> Any:
            if url in shared.gateways and not (own or folder or options):
                return shared.gateways[url]
            options = {"engine": {"kind": kind}, **options}
            return stack.enter_context(GatewayThread(url, folder, **options))

        yield start


@pytest.fixture
def play(
    start_engine: Callable[..., Any], start_gateway: Callable[..., Any]
) -> Callable[..., tuple[Any, Any, Any]]:
    """Return a function from options to an engine, its gateway, and an episode."""

    def start(**options: Any) -> tuple[Any, Any, Any]:
        of_engine = {name: options.pop(name) for name in _OF_ENGINE if name in options}
        engine = start_engine(**of_engine)
        gateway = start_gateway(engine.url)
        return engine, gateway, gateway.admin.create(**options)

    return start
