"""GRPO with TRL on a game of several turns.

Needs: pip install 'gem-adapters[trl]' gem-games. A tiny model for a computer without a GPU::

    gem-core make-model game:GuessTheNumber-v0-easy out=tiny
    gem-core train sft model=tiny env=game/GuessTheNumber-v0-easy 'skill=[0.1,0.1,1]' out=warm
    python examples/trainers/train_trl.py --model warm/model --steps 60 --lr 1e-3
"""

import argparse

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[trl]' gem-games"):
    import torch
    import transformers
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from gem_adapters.trl.rollout import episode_rewards, prompts, rollout
    from gem_rollout import Limits


def main() -> None:
    """Train, and print the mean reward of the first and the last steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Help)
    parser.add_argument("--model", required=True, help="folder or name of the model")
    parser.add_argument("--env", default="game:GuessTheNumber-v0-easy")
    parser.add_argument("--with", dest="config", nargs="*", help="such as wrappers=[concat]")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--lr", type=float, default=1e-6)
    parser.add_argument("--out", default="runs/trl")
    options = parser.parse_args()

    trainer = GRPOTrainer(
        model=transformers.AutoModelForCausalLM.from_pretrained(options.model),
        processing_class=transformers.AutoTokenizer.from_pretrained(options.model),
        args=GRPOConfig(
            output_dir=options.out,
            max_steps=options.steps,
            learning_rate=options.lr,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=512,
            logging_steps=5,
            use_cpu=not torch.cuda.is_available(),
            report_to=[],
        ),
        train_dataset=Dataset.from_list(prompts(options.env, 8 * options.steps)),
        rollout_func=rollout(options.config, limits=Limits(turn_tokens=16)),
        reward_funcs=episode_rewards,
    )
    trainer.train()
    rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    print(f"mean reward: {rewards[0]:.3f} at the beginning, {rewards[-1]:.3f} at the end")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Shows the description as it is written."""


if __name__ == "__main__":
    main()
