"""Learning curves on a CPU: algorithms, discounts, with and without a tool.

Every run of a task begins with the same warm start and makes the same number of steps of as many
episodes. Finished runs stay in the folder of runs and are not repeated; curves, tables and plots go
to benchmarks/learning/results.

Examples:
  python benchmarks/run.py learning --seeds 5                 everything, resumable
  python benchmarks/run.py learning --seeds 2 --only algorithms-guess --steps 40
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from learning.report import write_report
from learning.tasks import RUNS, TASKS, Run, folder_of

__all__ = ["add_arguments", "run", "train", "warm_start"]

DONE = "model/config.json"
"""A run is finished once its last model has been written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this suite."""
    figures = list(dict.fromkeys(run.figure for run in RUNS))
    parser.set_defaults(output=Path(__file__).parent / "results")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each run (5)")
    parser.add_argument("--only", action="append", choices=figures, help="may be repeated")
    parser.add_argument("--steps", type=int, help="steps instead of each task's own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel runs")
    parser.add_argument("--runs", type=Path, default=Path("runs/learning"), help="folder of runs")
    parser.add_argument("--report-only", action="store_true", help="report finished runs only")


def run(options: argparse.Namespace) -> None:
    """Make the missing runs and the report."""
    chosen = [one for one in RUNS if one.figure in (options.only or [one.figure])]
    if not options.report_only:
        _do(options, chosen)
    write_report(chosen, options.runs, options.output, seeds=options.seeds)


def _do(args: argparse.Namespace, chosen: list[Run]) -> None:
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        names = dict.fromkeys(run.task for run in chosen)
        warm = [pool.submit(warm_start, name, args.runs) for name in names]
        for one in as_completed(warm):
            print(one.result(), flush=True)
        # Seeds in the outer loop, so that partial results cover all figures.
        wanted = {
            folder_of(run, seed, args.runs): (run, seed)
            for seed in range(args.seeds)
            for run in chosen
        }
        jobs = [
            pool.submit(train, run, seed, args.runs, args.steps) for run, seed in wanted.values()
        ]
        for number, one in enumerate(as_completed(jobs), start=1):
            print(f"{number}/{len(jobs)} {one.result()}", flush=True)


def warm_start(name: str, runs: Path) -> str:
    """Make a model and train it on demonstrations."""
    import torch  # noqa: PLC0415 - in the process that works

    from gem_train.demonstrations import demonstrations  # noqa: PLC0415 - as above
    from gem_train.make_model import make_model  # noqa: PLC0415 - as above
    from gem_train.policy import Policy  # noqa: PLC0415 - as above
    from gem_train.sft import sft  # noqa: PLC0415 - as above
    from gem_train.sft_config import SFTConfig  # noqa: PLC0415 - as above

    torch.set_num_threads(1)
    folder, task = runs / name / "warm", TASKS[name]
    if (folder / "model" / "config.json").is_file():
        return f"{name}: the warm start is there"
    began = time.perf_counter()
    factory = task.factory()
    made = make_model(folder / "random", [factory], vocab=task.vocab, context=1024, episodes=100)
    policy = Policy.load(folder / "random", device="cpu")
    played = demonstrations(
        factory,
        policy.tokenizer,
        episodes=task.demonstrations,
        skill=task.skill,
        max_new_tokens=task.max_new_tokens + 8,
    )
    losses: dict[str, float] = {}
    config = SFTConfig(steps=task.warm_steps, batch_size=64, lr=2e-3)
    sft(policy, list(played), config, log=lambda _, figures: losses.update(figures))
    policy.save(folder / "model")
    return (
        f"{name}: {made.parameters:,} parameters, {made.prompt_tokens} tokens of a prompt, warm "
        f"start with a validation loss of {losses['validation/loss']:.3f} in "
        f"{time.perf_counter() - began:.0f} s"
    )


def train(run: Run, seed: int, runs: Path, steps: int | None) -> str:
    """Train once."""
    import torch  # noqa: PLC0415 - in the process that works
    from rich.console import Console  # noqa: PLC0415 - as above

    from gem_rollout import Component  # noqa: PLC0415 - as above
    from gem_train.config import TrainConfig  # noqa: PLC0415 - as above
    from gem_train.trainer import Trainer  # noqa: PLC0415 - as above

    torch.set_num_threads(1)
    task, folder = TASKS[run.task], folder_of(run, seed, runs)
    name = f"{run.figure} {run.label} seed {seed}"
    if (folder / DONE).is_file():
        return f"{name}: there"
    resume = any((folder / "checkpoints").glob("[0-9]*/state.pt"))
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    common: dict[str, Any] = {
        "model": str(runs / run.task / "warm" / "model"),
        "device": "cpu",
        "threads": 1,
        "seed": seed,
        "steps": steps or task.steps,
        "rollout": {"episodes": 64},
        "sampling": {"max_new_tokens": task.max_new_tokens},
        "optim": {"lr": task.lr},
        "checkpoint": {"every": 0, "keep": 1},
        "log": {"writers": ["csv"], "trajectories_every": 0, "progress": "off", "plot": False},
    }
    trainer = Trainer(
        TrainConfig(**{**common, **run.config}),
        {run.task: Component(task.factory())},
        folder,
        resume=resume,
        console=Console(quiet=True),
    )
    trainer.train()
    success = trainer.metrics["rollout/success"]
    return f"{name}: success {success:.2f} at the end, {time.perf_counter() - began:.0f} s"
