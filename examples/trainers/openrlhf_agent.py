"""Mastermind with a Python tool in OpenRLHF: the file of its agent.

Write the dataset with ``python examples/trainers/openrlhf_agent.py rows.jsonl``, then train::

    python -m openrlhf.cli.train_ppo_ray --data.prompt_dataset rows.jsonl \
        --train.agent_func_path examples/trainers/openrlhf_agent.py \
        --data.input_key input --data.label_key label --data.max_len 2048 \
        --rollout.max_new_tokens 256 --rollout.n_samples_per_prompt 8 ...

Without a file name, it plays an episode with random tokens in place of a model.
"""

import asyncio
import json
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[openrlhf]' gem-games"):
    from gem_adapters import openrlhf
    from gem_adapters.rows import openrlhf_layout
    from gem_rollout import Limits, env_rows
    from gem_rollout.models.tiny_model import make_tiny_tokenizer

ROWS = env_rows("game:Mastermind-v0-easy", 1000, seed=7, env_kwargs={"max_turns": 4})


class AgentExecutor(openrlhf.AgentExecutor):
    """What OpenRLHF makes, without arguments."""

    def __init__(self) -> None:
        super().__init__(config=["tools=[python]"], limits=Limits(prompt_tokens=1024))


class RandomEngine:
    """Returns random tokens, as OpenRLHF's engine returns those of a model."""

    async def generate(self, ids: list[int], params: Any, multi_modal_data: Any = None) -> Any:
        """Return eight tokens."""
        tokens = random.choices(range(3, 250), k=8)
        logprobs = [{token: SimpleNamespace(logprob=-5.5)} for token in tokens]
        reply = SimpleNamespace(token_ids=tokens, logprobs=logprobs, finish_reason="stop")
        return SimpleNamespace(outputs=[reply])


def main(file: str = "") -> None:
    """Write the dataset, or play an episode."""
    lines = [openrlhf_layout(row) for row in ROWS]
    if file:
        Path(file).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return
    params = SimpleNamespace(max_tokens=256, logprobs=1)
    played = asyncio.run(
        AgentExecutor().execute(
            lines[0]["input"],
            lines[0]["label"],
            params,
            2048,
            make_tiny_tokenizer(),
            RandomEngine(),
        )
    )
    print(f"{len(played['observation_tokens'])} tokens, {played['extra_logs']['turns']:.0f} turns")
    print(f"sampled: {played['action_ranges']}")
    print(f"reward: {played['reward']:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
