"""Learning curves on a CPU: algorithms, discounts, with and without a tool.

    python benchmarks/learning/run.py --seeds 5                 # everything, resumable
    python benchmarks/learning/run.py --seeds 2 --only algorithms-guess --steps 40

Every run of a task begins with the same warm start and makes the same number of steps of as many
episodes. What is done is kept in the folder of runs and not done again; curves, tables and plots go
to benchmarks/learning/results.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from learning.report import write_report  # noqa: E402 - beside this file
from learning.tasks import RUNS, TASKS, Run, folder_of  # noqa: E402 - likewise

DONE = "model/config.json"
"""A run is done once its last model is there."""


def main() -> None:
    """Make what is missing, and the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each run (5)")
    parser.add_argument("--only", action="append", default=[], metavar="FIGURE", help="figures")
    parser.add_argument("--steps", type=int, help="steps instead of each task's own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--runs", type=Path, default=Path("runs/learning"), help="folder of runs")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--report-only", action="store_true", help="of what there is")
    args = parser.parse_args()
    unknown = set(args.only) - {run.figure for run in RUNS}
    if unknown:
        parser.error(f"--only: choose from {', '.join(dict.fromkeys(r.figure for r in RUNS))}")
    chosen = [run for run in RUNS if not args.only or run.figure in args.only]
    if not args.report_only:
        _do(args, chosen)
    write_report(chosen, args.runs, args.results, seeds=args.seeds)


def _do(args: argparse.Namespace, chosen: list[Run]) -> None:
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        names = dict.fromkeys(run.task for run in chosen)
        warm = [pool.submit(warm_start, name, args.runs) for name in names]
        for one in as_completed(warm):
            print(one.result(), flush=True)
        # Seeds in the outer loop: there is something to look at before all is done.
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

    from gem_train.demonstrations import demonstrations  # noqa: PLC0415 - likewise
    from gem_train.make_model import make_model  # noqa: PLC0415 - likewise
    from gem_train.policy import Policy  # noqa: PLC0415 - likewise
    from gem_train.sft import sft  # noqa: PLC0415 - likewise
    from gem_train.sft_config import SFTConfig  # noqa: PLC0415 - likewise

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
    from rich.console import Console  # noqa: PLC0415 - likewise

    from gem_rollout import Component  # noqa: PLC0415 - likewise
    from gem_train.config import TrainConfig  # noqa: PLC0415 - likewise
    from gem_train.trainer import Trainer  # noqa: PLC0415 - likewise

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


if __name__ == "__main__":
    main()
