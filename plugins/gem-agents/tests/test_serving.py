"""A real endpoint: ``transformers serve`` with a tiny model, queried by the agent and the SDK."""

import asyncio
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from needs import needs
from ports import free_port

import gem_core
from gem_agents.openai import OpenAIAgent
from gem_rollout import collect
from gem_rollout.models.tiny_model import save_tiny_model
from gem_tasks import as_tool

needs("torch", "accelerate", "fastapi", "uvicorn")

GAME = "game:GuessTheNumber-v0-easy"
START_SECONDS = 240


def is_up(url):
    try:
        with urllib.request.urlopen(url, timeout=60):  # noqa: S310 - loopback
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("served") / "tiny")


@pytest.fixture(scope="module")
def url(model, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "hub").mkdir()
    port, log = free_port(), home / "log.txt"
    code = "from transformers.cli.transformers import main; main()"
    arguments = ["serve", model, "--device", "cpu", "--dtype", "float32"]
    environ = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (
        log.open("w") as output,
        subprocess.Popen(
            [sys.executable, "-c", code, *arguments, "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, **environ},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as server,
    ):
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_up(f"http://127.0.0.1:{port}/v1/models"):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def agent_of(url, model, **options):
    return OpenAIAgent(model=model, base_url=url, max_tokens=12, **options)


def test_an_agent_plays_a_game_through_a_server_of_transformers(url, model):
    trajectories = list(
        collect(
            lambda: gem_core.make(GAME), lambda: agent_of(url, model), episodes=3, concurrency=3
        )
    )
    assert [one.error for one in trajectories] == [None] * 3
    for trajectory in trajectories:
        generations = [turn.generation for turn in trajectory.turns]
        for turn, generation in zip(trajectory.turns, generations, strict=True):
            assert turn.action == (generation.reply.get("content") or "")
            assert 0 < generation.completion_tokens <= 12
        prompts = [generation.prompt_tokens for generation in generations]
        assert prompts == sorted(set(prompts))  # each prompt has the history


def test_a_server_of_transformers_takes_schemas_of_tools(url, model):
    @as_tool
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    tool_use = {"call_format": "openai", "instructions": "schemas"}
    [told] = collect(
        lambda: gem_core.make(GAME, tools=[add], tool_use=tool_use),
        lambda: agent_of(url, model),
        episodes=1,
    )
    [plain] = collect(lambda: gem_core.make(GAME), lambda: agent_of(url, model), episodes=1)
    assert told.error is None
    first, other = told.turns[0].generation, plain.turns[0].generation
    assert first.prompt_tokens > other.prompt_tokens


def test_the_agent_and_the_openai_sdk_get_the_same_answer(openai, url, model):
    """Decoding is greedy, so that sampling makes no difference."""
    with openai.OpenAI(base_url=url, api_key="any") as client:
        theirs = client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": "guess"}],
            temperature=0,
            max_tokens=12,
        )

    async def ask():
        agent = agent_of(url, model, temperature=0)
        agent.reset(gem_core.make(GAME))
        try:
            return (await agent.act("guess", {})).generation
        finally:
            agent.close()

    ours = asyncio.run(ask())
    assert ours.reply["content"] == theirs.choices[0].message.content
    assert ours.finish_reason == theirs.choices[0].finish_reason
    assert ours.prompt_tokens == theirs.usage.prompt_tokens
    assert ours.completion_tokens == theirs.usage.completion_tokens
