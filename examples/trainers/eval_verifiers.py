"""GuessTheNumber in verifiers: the environment that prime-rl trains with, in an evaluation.

Without arguments, an endpoint on this machine answers with random guesses. With the URL of an
OpenAI-compatible endpoint and a model, that model plays, with the key in ``OPENAI_API_KEY``::

    pip install 'gem-adapters[verifiers]' gem-games
    python examples/trainers/eval_verifiers.py http://localhost:8000/v1 Qwen/Qwen3-4B
"""

import asyncio
import os
import random
import sys

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[verifiers]' gem-games"):
    from aiohttp import web
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.configs.cli.eval import EvalConfig


def config(url: str, model: str) -> EvalConfig:
    """Return the configuration: 4 rollouts of each of 8 episodes."""
    return EvalConfig.model_validate(
        {
            "env": {
                "taskset": {
                    "id": "gem-adapters",
                    "env": "game:GuessTheNumber-v0-easy",
                    "seed": 7,
                    "task": {"reward": "discounted", "gamma": 0.9},
                },
                "agent": {"max_turns": 16},
            },
            "model": model,
            "client": {"base_url": url, "api_key_var": "OPENAI_API_KEY"},
            "select": {"limit": 8},
            "num_rollouts": 4,
            "output_dir": "runs/verifiers",
            "push": False,
            "rich": None,
        }
    )


async def guess(request: web.Request) -> web.Response:
    """Answer with a random guess."""
    body = await request.json()
    message = {"role": "assistant", "content": rf"\boxed{{{random.randint(1, 10)}}}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
    return web.json_response({**head, "choices": choices})


async def main() -> None:
    """Evaluate, and print the rewards of each episode."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", guess)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        if len(sys.argv) > 1:
            url, model = sys.argv[1:]
        else:
            os.environ.setdefault("OPENAI_API_KEY", "none")
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            url, model = f"http://127.0.0.1:{runner.addresses[0][1]}/v1", "random"
        episodes = await run_eval(config(url, model))
    finally:
        await runner.cleanup()
    for episode in episodes:
        (trace,) = episode.traces
        print(trace.task.data.name, f"{trace.reward:.2f}", trace.info["gem"]["rewards"])


if __name__ == "__main__":
    asyncio.run(main())
