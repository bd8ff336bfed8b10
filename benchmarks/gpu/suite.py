"""Measures training on one GPU: memory and time of a learning step, and whole training runs.

The models have the shapes of Qwen 3 and random weights, so nothing is downloaded, and their replies
never end by themselves: each has all the tokens that it may have. The measured memory stands beside
what ``training_memory.py`` counts from shapes alone, in the same versions.

Examples:
  python benchmarks/run.py gpu
  python benchmarks/run.py gpu --memory 1.7B --runs
"""

import argparse
import gc
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Literal

import torch
import training_memory
import transformers
from common.output import machine, number, table, write

from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_train.batch import Batch
from gem_train.config import OptimiserConfig, SamplingConfig, TrainConfig
from gem_train.errors import TooLargeError
from gem_train.learner import Learner
from gem_train.metrics import read_metrics
from gem_train.parts import parts_of
from gem_train.policy import Policy

__all__ = ["add_arguments", "run"]

_GIB = 2**30
_ROWS, _LENGTH = training_memory.ROWS, training_memory.LENGTH
_PROMPT = 128
"""Tokens of a row that were not sampled."""
Kind = Literal["adamw", "adamw8bit"]
_KINDS: dict[str, Kind] = {"AdamW": "adamw", "AdamW in 8 bits": "adamw8bit"}
_STEPS = 3
_ENV = "game/GuessTheNumber-v0-easy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    shapes = list(training_memory.SHAPES)
    for name, chosen, what in (
        ("--memory", shapes, "the memory of a learning step"),
        ("--runs", shapes[:1], "training runs"),
    ):
        about = f"models to measure {what} of, among {', '.join(shapes)}; none for no such"
        parser.add_argument(
            name, nargs="*", choices=shapes, default=chosen, metavar="MODEL", help=about
        )
    parser.add_argument(
        "--rows", nargs="+", type=int, default=[16, 64, 256], help="rows of a sampling batch"
    )
    parser.add_argument("--new-tokens", type=int, default=256, help="of a reply")
    parser.add_argument("--device", default="cuda")


def run(options: argparse.Namespace) -> None:
    """Measure."""
    found: dict[str, list[dict[str, Any]]] = {"memory": [], "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys([*options.memory, *options.runs]):
            for kind, case in _measured(name, Path(folder), options):
                found[kind].append(case)
                _write(found, options)  # a run that is stopped leaves what it has measured


def _write(found: dict[str, list[dict[str, Any]]], options: argparse.Namespace) -> None:
    about = (
        f"{_device(options.device)}, torch {torch.__version__}, transformers "
        f"{transformers.__version__}; {machine()}. Models with the shapes of Qwen 3 and random "
        f"weights, `precision=bf16`."
    )
    parts = [about]
    if found["memory"]:
        parts += ["## A learning step", _about_memory(), _memory_table(found["memory"])]
    if found["runs"]:
        parts += ["## Training runs", _about_runs(options), _runs_table(found["runs"])]
    write(options.output, "gpu", "One GPU", parts, found)


def _device(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else device


def _measured(
    name: str, folder: Path, options: argparse.Namespace
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield whether it is a case of ``memory`` or of ``runs``, and what was measured."""
    path = _save(name, folder / name, options.device)
    for checkpointing in (False, True) if name in options.memory else ():
        shape, loss = training_memory.SHAPES[name], training_memory.chunked
        counted = training_memory.whole_step(
            *training_memory.peak_of(shape, loss, checkpointing=checkpointing)
        )
        for kind, optimiser in _KINDS.items():
            found = _memory(path, optimiser, checkpointing=checkpointing, device=options.device)
            case = {"model": name, "checkpointing": checkpointing, "optimiser": kind}
            yield "memory", {**case, "counted": counted[kind], **found}
    if name in options.runs:
        for rows in options.rows:
            found = _train(path, folder, rows, options)
            yield "runs", {"model": name, "rows": rows, **found}


def _save(name: str, path: Path, device: str) -> Path:
    """Save a model with random weights, and a tokenizer that knows a few of its tokens."""
    tokenizer = make_tiny_tokenizer()
    with torch.device(device):
        torch.manual_seed(0)
        config = transformers.Qwen3Config(
            **training_memory.SHAPES[name],
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        model = transformers.Qwen3ForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def _memory(path: Path, kind: Kind, *, checkpointing: bool, device: str) -> dict[str, float]:
    """Return the peak of a learning step in bytes, and its seconds; nothing if it does not fit."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    policy = Policy.load(
        path, device=device, precision="bf16", gradient_checkpointing=checkpointing
    )
    config = TrainConfig(
        model=str(path),
        algo={"id": "grpo"},
        optim=OptimiserConfig(kind=kind, lr=1e-6, tokens=_ROWS * _LENGTH),
        sampling=SamplingConfig(max_gap=None),
    )
    made = parts_of(config)
    learner = Learner(policy, made.algorithm, made.loss, config, made.shapers)
    generator, seconds = torch.Generator().manual_seed(0), []
    try:
        for _ in range(_STEPS + 1):
            begun = time.perf_counter()
            learner.learn(_batch(), generator)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begun)
    except TooLargeError:
        return {}
    return {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "seconds": median(seconds[1:]),
    }


def _batch() -> Batch:
    """Return one turn in each row, whose tokens and rewards are drawn at random."""
    generator = torch.Generator().manual_seed(0)
    turns = torch.arange(_ROWS)
    is_sampled = torch.arange(_LENGTH) >= _PROMPT
    yes, no = torch.ones(_ROWS, dtype=torch.bool), torch.zeros(_ROWS, dtype=torch.bool)
    return Batch(
        ids=torch.randint(1000, (_ROWS, _LENGTH), generator=generator),
        attention=torch.ones(_ROWS, _LENGTH, dtype=torch.bool),
        turn_of=torch.where(is_sampled, turns[:, None], -1),
        sampler_logprobs=None,
        reward=torch.rand(_ROWS, generator=generator),
        done=yes,
        truncated=no,
        cut=no,
        formatted=yes,
        episode=turns,
        turn=torch.zeros_like(turns),
        group=turns // 8,
        chosen=yes,
        trained=yes,
    )


def _train(path: Path, folder: Path, rows: int, options: argparse.Namespace) -> dict[str, float]:
    """Train for a few steps by the command; return medians of the steps after the first."""
    out = folder / f"run-{path.name}-{rows}"
    command = [
        *(sys.executable, "-m", "gem_core", "train", f"model={path}", f"env={_ENV}"),
        *("algo=grpo", f"steps={_STEPS}", f"out={out}", f"device={options.device}"),
        *(f"rollout.episodes={rows}", f"rollout.concurrency={rows}", "rollout.group_size=8"),
        *("precision=bf16", "gradient_checkpointing=true", "optim.lr=1e-6"),
        *(f"sampling.max_new_tokens={options.new_tokens}", "sampling.cut_is_invalid=false"),
        *("checkpoint.every=0", "log.plot=false", "progress=off"),
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)
    found = read_metrics(out / "metrics.csv")
    shutil.rmtree(out)
    names = {
        "sampled": "speed/sampled_tokens_per_second",
        "learned": "speed/learned_tokens_per_second",
        "sample": "time/sample",
        "learn": "time/learn",
        "turns": "rollout/turns",
        "gap": "train/mean_sampler_gap",
    }
    return {name: median(found[key][1][1:]) for name, key in names.items()}


def _about_memory() -> str:
    return (
        f"A step of {_ROWS * _LENGTH:,} tokens ({_ROWS} rows of {_LENGTH:,}) with GRPO: the most "
        f"memory of tensors, and of the allocator, and the median time of {_STEPS} steps after "
        f"the first. `counted` is what `training_memory.py` counts, without a GPU."
    )


def _memory_table(found: list[dict[str, Any]]) -> str:
    headings = ("model", "gradient checkpointing", "optimiser")
    figures = ("counted GiB", "tensors GiB", "allocator GiB", "seconds", "tokens/s")
    return table(
        (*headings, *figures),
        [
            (
                one["model"],
                "yes" if one["checkpointing"] else "no",
                one["optimiser"],
                f"{one['counted'] / _GIB:.1f}",
                *(
                    (
                        f"{one['allocated'] / _GIB:.1f}",
                        f"{one['reserved'] / _GIB:.1f}",
                        number(one["seconds"]),
                        number(_ROWS * _LENGTH / one["seconds"]),
                    )
                    if "seconds" in one
                    else ("does not fit", "", "", "")
                ),
            )
            for one in found
        ],
    )


def _about_runs(options: argparse.Namespace) -> str:
    return (
        f"`gem-core train` with GRPO in {_ENV.replace('/', ':')}, gradient checkpointing, and "
        f"replies of {options.new_tokens} tokens: medians of {_STEPS - 1} steps after the first. "
        f"`rows` are episodes of a step, sampled at the same time by the model in the training "
        f"process. `gap` is the mean difference between the log-probabilities of sampler and "
        f"learner, in nats."
    )


def _runs_table(found: list[dict[str, Any]]) -> str:
    keys = ("rows", "turns", "sample", "learn", "sampled", "learned", "gap")
    headings = (
        *("model", "rows", "turns", "sampling s", "learning s", "sampled tokens/s"),
        *("learned tokens/s", "gap"),
    )
    return table(headings, [(one["model"], *(number(one[key]) for key in keys)) for one in found])
