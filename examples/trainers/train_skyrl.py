"""Environments in SkyRL: a dataset, one batch on the CPU, and the class that trains.

SkyRL trains on GPUs only. What runs here is the generator; a small model with random weights takes
the place of its inference engines::

    pip install 'gem-adapters[skyrl]' gem-agents gem-games gem-tools
    python examples/trainers/train_skyrl.py

To train, return the same generator from ``get_generator`` of a ``BasePPOExp`` of yours.
"""

import asyncio
import sys
import typing
from pathlib import Path
from typing import Any

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[skyrl]' gem-agents gem-games gem-tools"):
    import typing_extensions

    if sys.version_info < (3, 12):  # pydantic reads SkyRL's types with this one only
        typing.TypedDict = typing_extensions.TypedDict

    from skyrl.train.generators.base import GeneratorInput, TrajectoryID
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from gem_adapters.rows import rows
    from gem_adapters.skyrl import GemGenerator
    from gem_agents.local_model import LocalModel
    from gem_rollout import FaultPolicy, Limits
    from gem_rollout.models.tiny_model import save_tiny_model
    from gem_rollout.tokens.sampler import Request

ENV = "game:GuessTheNumber-v0-easy"


class CpuEngine:
    """Samples on the CPU what SkyRL's inference engines sample on GPUs."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder)
        self._model = LocalModel(model, self.tokenizer, batch_size=16)

    async def generate(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Sample a reply."""
        room = batch["sampling_params"]["max_tokens"]
        sampled = await self._model.submit(Request(batch["prompt_token_ids"][0], room))
        return {
            "responses": [self._model.text_of(sampled)],
            "response_ids": [sampled.ids],
            "stop_reasons": ["stop" if sampled.is_complete else "length"],
            "response_logprobs": [sampled.logprobs],
        }


async def main(folder: Path) -> None:
    """Generate the rows of a batch as SkyRL's trainer does."""
    engine = CpuEngine(save_tiny_model(folder / "model"))
    generator = GemGenerator(
        engine.tokenizer,
        engine,
        config=["tools=[python]"],
        limits=Limits(turn_tokens=16, context=4096),
        policy=FaultPolicy(turn_deadline=60),
    )
    dataset = rows(ENV, 8, layout="skyrl")
    batch = GeneratorInput(
        prompts=[row["prompt"] for row in dataset],
        env_classes=[row["env_class"] for row in dataset],
        env_extras=dataset,
        sampling_params={"temperature": 1.0, "logprobs": 1},
        trajectory_ids=[TrajectoryID(str(row["index"]), 0) for row in dataset],
    )
    output = await generator.generate(batch)
    for mask, rewards in zip(output["loss_masks"], output["rewards"], strict=True):
        print(f"{sum(mask)} of {len(mask)} tokens sampled, reward {sum(rewards)}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/skyrl")))
