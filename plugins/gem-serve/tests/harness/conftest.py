"""A task that any program can do, and what programs are tested with: machine, engine, gateway."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gem_core.errors import MachineError
from gem_workers.machine import MachineSpec

GREET = "echo hello > /app/greeting.txt"
_TASK = """\
schema_version = "1.2"
[task]
name = "test/greeting"
[agent]
timeout_sec = 120.0
[verifier]
timeout_sec = 60.0
[environment]
memory_mb = 2048
"""
_TEST = """\
mkdir -p /logs/verifier
test "$(cat /app/greeting.txt)" = hello && echo 1 > /logs/verifier/reward.txt && exit
echo 0 > /logs/verifier/reward.txt
"""


@pytest.fixture(scope="session")
def provider() -> Iterator[Any]:
    local = pytest.importorskip("gem_sandbox.machines.local.provider")
    made = local.LocalProvider()
    try:
        made.start(MachineSpec()).close()
    except MachineError as error:
        made.close()
        pytest.skip(f"no machine can be started here: {error}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def machine(provider: Any) -> Iterator[Any]:
    with provider.start(MachineSpec(workdir="/app")) as started:
        yield started


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one task: a file with a greeting."""
    pytest.importorskip("gem_terminal")
    folder = tmp_path_factory.mktemp("tasks")
    for name, text in {
        "instruction.md": "Write the word hello to the file /app/greeting.txt.\n",
        "task.toml": _TASK,
        "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\n",
        "tests/test.sh": _TEST,
    }.items():
        path = folder / "greeting" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="session")
def start_engine() -> Iterator[Callable[..., Any]]:
    """Start an engine whose model runs commands."""
    pytest.importorskip("transformers")
    from gem_rollout.models.tiny_model import make_tiny_tokenizer
    from gem_serve.gateway.testing.engine import TestEngine
    from gem_serve.harness.testing import shelling

    tiny = make_tiny_tokenizer()
    with ExitStack() as stack:

        def start(*commands: str, tokenizer: Any = tiny, **options: Any) -> Any:
            options = {"context": 1_000_000, "chunk": 8, **options}
            return stack.enter_context(TestEngine(tokenizer, shelling(*commands), **options))

        yield start


@pytest.fixture(scope="session")
def start_gateway() -> Iterator[Callable[..., Any]]:
    from gem_serve.gateway.serving import GatewayThread

    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(GatewayThread(*args, **options))


@pytest.fixture(scope="session")
def engine(start_engine: Callable[..., Any]) -> Any:
    return start_engine(GREET)


@pytest.fixture(scope="session")
def gateway(engine: Any, start_gateway: Callable[..., Any]) -> Any:
    return start_gateway(engine.url)


@pytest.fixture
def env(provider: Any, tasks: Path) -> Iterator[Any]:
    import gem_core

    made = gem_core.make("terminal:Harbor", data=str(tasks), machine=provider)
    yield made
    made.close()
