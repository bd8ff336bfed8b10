"""Does GRPO in TRL learn in our environments? Success before and after 60 steps, several seeds.

Run it where TRL is installed, with a tiny model as in ``examples/trainers/train_trl.py``::

    python benchmarks/trl_training.py --model warm/model
"""

import argparse
import math
import platform
import statistics
import tempfile
from importlib import metadata

import torch
import transformers
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from gem_adapters.trl.rollout import episode_rewards, prompts, rollout
from gem_adapters.trl.sampling import sample
from gem_core.background import BackgroundLoop
from gem_rollout import Limits, RowEnvs, env_rows, play_batch

ENV = "game:GuessTheNumber-v0-easy"
TASKS = 200
LIMITS = Limits(turn_tokens=16, response_tokens=512)


def success(trainer: GRPOTrainer) -> float:
    """Return the share of the fixed tasks that the trainer's model solves."""
    envs = RowEnvs()
    sessions = [
        envs.session(row, trainer.processing_class, limits=LIMITS)
        for row in env_rows(ENV, TASKS, seed=10**6)
    ]
    played = BackgroundLoop().run(play_batch(sessions, lambda asked: sample(trainer, asked)))
    return sum(bool(one.success) for one in played) / TASKS


def train(model: str, seed: int, steps: int, lr: float) -> tuple[float, float]:
    """Return the success before and after training."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=transformers.AutoModelForCausalLM.from_pretrained(model),
            processing_class=transformers.AutoTokenizer.from_pretrained(model),
            args=GRPOConfig(
                output_dir=folder,
                seed=seed,
                max_steps=steps,
                learning_rate=lr,
                per_device_train_batch_size=64,
                num_generations=8,
                max_completion_length=512,
                save_strategy="no",
                use_cpu=not torch.cuda.is_available(),
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(prompts(ENV, 8 * steps, seed=seed)),
            rollout_func=rollout(limits=LIMITS),
            reward_funcs=episode_rewards,
        )
        before = success(trainer)
        trainer.train()
        return before, success(trainer)


def main() -> None:
    """Print a table of the seeds, and the gain with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder of the warm-started model")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--lr", type=float, default=1e-3)
    options = parser.parse_args()
    versions = {name: metadata.version(name) for name in ("trl", "transformers", "torch")}
    print(f"{versions}, Python {platform.python_version()}")
    print(f"{ENV}, {options.steps} steps, lr {options.lr}, {TASKS} fixed tasks")
    gains = []
    for seed in range(options.seeds):
        before, after = train(options.model, seed, options.steps, options.lr)
        gains.append(after - before)
        print(f"seed {seed}: {before:.3f} -> {after:.3f}", flush=True)
    error = statistics.stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.nan
    print(f"gain {statistics.mean(gains):.3f}, standard error over the seeds {error:.3f}")


if __name__ == "__main__":
    main()
