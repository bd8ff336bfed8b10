"""verifiers' own ``openenv`` taskset plays our environments from a server."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "verifiers.v1",
    reason="verifiers is not installed: 'tests/ci/adapters.sh openenv_taskset' installs it",
)
pytest.importorskip(
    "openenv", reason="openenv is not installed: 'tests/ci/adapters.sh openenv_taskset' installs it"
)

from aiohttp import web
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from gem_core import make
from gem_core.observation import visible_text

Serve = Callable[..., Any]
pytestmark = pytest.mark.filterwarnings("ignore")  # verifiers and its packages warn

GAME = "conformance:Game"
EPISODES = 64


def digit(text: str) -> str:
    return f"digit {sum(map(ord, text)) % 10}"


async def endpoint(request: web.Request) -> web.Response:
    """Answer as a model that names a digit decided by the observation."""
    body = await request.json()
    seen = json.loads(body["messages"][-1]["content"])["observation"]["text"]
    message = {"role": "assistant", "content": digit(seen)}
    return web.json_response(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        }
    )


def expected(seed: int) -> float:
    with make(GAME) as env:
        observation, info = env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            step = env.step(digit(visible_text(observation, info)))
            observation, info, total = step.observation, step.info, total + step.reward
            ended = step.terminated or step.truncated
    return total


async def evaluate(url: str, folder: Path) -> list[Any]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", endpoint)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        resets = [{"seed": seed} for seed in range(EPISODES)]
        config = {
            "env": {
                "taskset": {"id": "openenv", "base_url": url, "resets": resets},
                "player": {
                    "harness": {"id": "gem-adapters"},  # asks the model in this process
                    "runtime": {"type": "subprocess"},
                },
            },
            "model": "scripted",
            "client": {
                "base_url": f"http://127.0.0.1:{runner.addresses[0][1]}/v1",
                "api_key_var": "SCRIPTED_KEY",
            },
            "select": {"limit": EPISODES},
            "num_rollouts": 1,
            "output_dir": folder,
            "push": False,
            "rich": None,
        }
        return list(await run_eval(EvalConfig.model_validate(config)))
    finally:
        await runner.cleanup()


def test_64_episodes_of_the_taskset_have_the_returns_of_local_ones(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "any")
    monkeypatch.setenv("VF_RUN_ID", "")
    running = serve(GAME)
    found = asyncio.run(evaluate(running.url, tmp_path))
    assert [episode.ok for episode in found] == [True] * EPISODES
    rewards = {
        episode.traces[0].task.data.reset["seed"]: episode.traces[0].reward for episode in found
    }
    assert rewards == {seed: pytest.approx(expected(seed)) for seed in range(EPISODES)}
