"""Mastermind with a Python tool in RL2: the file of its environment.

Write the dataset with ``python examples/trainers/rl2_env.py rows.jsonl``, then train::

    torchrun --nproc_per_node=8 -m RL2.trainer.ppo \
        rollout.train.path=rows.jsonl rollout.env_path=examples/trainers/rl2_env.py \
        rollout.train.responses_per_prompt=8 rollout.train.prompts_per_rollout=64 \
        rollout.train.sampling_params.max_new_tokens=256 \
        rollout.train.partial_rollout=true ...

Without a file name, it plays an episode with a server of random tokens in place of SGLang.
"""

import asyncio
import random
import sys

from aiohttp import web
from omegaconf import OmegaConf
from RL2.datasets import SampleGroup
from RL2.utils.communication import with_session

from gem_adapters.rl2 import Generate
from gem_adapters.rows import rows
from gem_rollout import Limits
from gem_rollout.models.tiny_model import make_tiny_tokenizer

ENV = "game:Mastermind-v0-easy"

generate = Generate(config=["tools=[python]"], limits=Limits(context=4096))


async def answer(_: web.Request) -> web.Response:
    """Return eight random tokens, as SGLang returns those of a model."""
    tokens = random.choices(range(3, 250), k=8)
    meta = {
        "finish_reason": {"type": "stop"},
        "completion_tokens": 8,
        "output_token_logprobs": [[-5.5, token, None] for token in tokens],
    }
    return web.json_response({"text": "", "output_ids": tokens, "meta_info": meta})


@with_session  # type: ignore[untyped-decorator]
async def play() -> SampleGroup:
    """Play two episodes of the same row."""
    app = web.Application()
    app.router.add_post("/generate", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = OmegaConf.create(
        {"responses_per_prompt": 2, "sampling_params": {"temperature": 1.0, "max_new_tokens": 256}}
    )
    (row,) = rows(ENV, 1, seed=7, env_kwargs={"max_turns": 4}, layout="rl2")
    host, port = runner.addresses[0][:2]
    try:
        group = SampleGroup(config, make_tiny_tokenizer(), row)
        return await group.generate(f"http://{host}:{port}", generate)
    finally:
        await runner.cleanup()


def main(file: str = "") -> None:
    """Write the dataset, or play."""
    if file:
        rows(ENV, 1000, seed=7, env_kwargs={"max_turns": 4}, layout="rl2", path=file)
        return
    tensors, metrics = asyncio.run(play()).to_all_tensor_dicts_and_metrics()
    for (one,), reward in zip(tensors, metrics["rewards"], strict=True):
        sampled = int(one["action_mask"].sum())
        print(f"{sampled} of {len(one['states'])} tokens sampled, reward {reward:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
