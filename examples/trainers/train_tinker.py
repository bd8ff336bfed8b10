"""GuessTheNumber in tinker-cookbook.

Without arguments, it plays a batch on this machine, with random tokens in place of a model, and
prints the training data. ``python examples/trainers/train_tinker.py train`` trains a model with the
Tinker service, and needs ``TINKER_API_KEY``.
"""

import asyncio
import random
import sys
from typing import Any

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[tinker]' gem-games"):
    from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
    from tinker_cookbook.rl import train
    from tinker_cookbook.rl.data_processing import assemble_training_data, compute_advantages
    from tinker_cookbook.rl.rollout_strategy import MinViableGroup
    from tinker_cookbook.rl.rollouts import do_group_rollout
    from tinker_cookbook.tokenizer_utils import register_tokenizer

    from gem_adapters.tinker import GemDatasetBuilder
    from gem_rollout.models.tiny_model import make_tiny_tokenizer

MODEL = "Qwen/Qwen3-4B-Instruct-2507"


def dataset(model_name: str) -> GemDatasetBuilder:
    """Return the configuration of the data: 8 groups of 8 episodes in a batch."""
    return GemDatasetBuilder(
        model_name=model_name,
        env="game:GuessTheNumber-v0-easy",
        n=1024,
        test_n=64,
        seed=7,
        group_size=8,
        groups_per_batch=8,
        config=["tools=[python]"],
        response_tokens=1024,
    )


class RandomCompleter(TokenCompleter):  # type: ignore[misc]  # tinker-cookbook has no types here
    """Samples random tokens."""

    async def __call__(
        self, model_input: Any, stop: Any, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        """Return at most eight tokens."""
        tokens = random.choices(range(3, 250), k=min(8, max_tokens or 8))
        return TokensWithLogprobs(tokens, [-5.5] * len(tokens), "stop")


async def dry_run() -> None:
    """Play a batch, and print its training data."""
    register_tokenizer("tiny", make_tiny_tokenizer)
    data, _ = await dataset("tiny")()
    rollouts = (do_group_rollout(group, RandomCompleter()) for group in data.get_batch(0))
    groups = await asyncio.gather(*rollouts)
    returns = [one for group in groups for one in group.get_total_rewards()]
    datums, _ = assemble_training_data(groups, compute_advantages(groups))
    tokens = sum(int(sum(datum.loss_fn_inputs["mask"].data)) for datum in datums)
    print(f"{len(returns)} episodes, mean return {sum(returns) / len(returns):.3f}")
    print(f"{len(datums)} data with {tokens} sampled tokens")


async def train_model() -> None:
    """Train a model."""
    config = train.Config(
        model_name=MODEL,
        recipe_name="gem",
        dataset_builder=dataset(MODEL),
        learning_rate=4e-5,
        max_tokens=256,
        log_path="runs/tinker",
        rollout_error_tolerance=MinViableGroup(),
    )
    await train.main(config)


if __name__ == "__main__":
    asyncio.run(train_model() if sys.argv[1:] == ["train"] else dry_run())
