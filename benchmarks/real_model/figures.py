"""The figures of a unit, read from its runs and kept in one file."""

import importlib.metadata
import json
import math
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from gem_train.metrics import read_metrics
from real_model.commands import Command
from real_model.units import TASKS, Sizes, Unit

__all__ = ["CURVES", "figures_of"]

CURVES = (
    *("rollout/success", "rollout/return", "rollout/format_errors", "rollout/response_tokens"),
    *("train/entropy", "train/grad_norm", "time/sample", "time/learn", "time/step"),
    *("speed/sampled_tokens_per_second",),
)
"""Columns of ``metrics.csv`` that are kept for each step."""
_PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "gem-core", "gem-rollout", "gem-train")
_KEPT = ("episodes", "turns", "format_errors", "cut_replies", "completion_tokens")


def figures_of(unit: Unit, sizes: Sizes, model: str, done: Mapping[str, Command]) -> dict[str, Any]:
    """Return the figures of a unit whose commands have all run.

    Args:
        unit: The unit.
        sizes: How much was played and trained.
        model: The model that was trained.
        done: Its commands by stage.
    """
    evaluations = [
        one
        for stage, command in done.items()
        if not stage.endswith("training")
        for one in _evaluations(stage, command.out)
    ]
    return {
        "unit": {"task": unit.task, "algo": unit.algo, "seed": unit.seed},
        "env": TASKS[unit.task].env,
        "model": model,
        "sizes": sizes.as_json(),
        "machine": _machine(),
        "evaluations": evaluations,
        "comparisons": _comparisons(done["supervised"].out, done["trained"].out),
        "curves": _curves(done["training"].out / "metrics.csv"),
        "seconds": {stage: round(command.seconds, 1) for stage, command in done.items()},
    }


def _evaluations(stage: str, run: Path) -> list[dict[str, Any]]:
    rows = json.loads((run / "metrics.json").read_text(encoding="utf-8"))["rows"]
    return [
        {
            "stage": row["agent"] if stage == "references" else stage.partition(" ")[0],
            "env": row["name"],
            "success": row["success"],
            "return": row["mean_return"],
            **{name: row[name] for name in _KEPT},
        }
        for row in rows
        if row["scope"] == "env"
    ]


def _comparisons(first: Path, second: Path) -> list[dict[str, Any]]:
    line = [sys.executable, "-m", "gem_core", "compare", str(first), str(second), "--format=json"]
    said = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout
    keys = ("name", "measure", "pairs", "first_mean", "second_mean", "difference", "p_value")
    return [{key: one[key] for key in keys} for one in json.loads(said)["comparisons"]]


def _curves(file: Path) -> dict[str, list[float | None]]:
    found = read_metrics(file)
    columns = {name: found[name] for name in CURVES if name in found}
    steps = sorted({int(step) for where, _ in columns.values() for step in where})
    curves: dict[str, list[float | None]] = {"step": [float(step) for step in steps]}
    for name, (where, values) in columns.items():
        at = {int(step): value for step, value in zip(where, values, strict=True)}
        curves[name] = [_rounded(at.get(step)) for step in steps]
    return curves


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def _machine() -> dict[str, str]:
    cuda = torch.cuda.is_available()
    threads = torch.get_num_threads()
    cores = "one thread of a CPU" if threads == 1 else f"{threads} threads of a CPU"
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {
        "device": torch.cuda.get_device_name(0) if cuda else cores,
        "python": platform.python_version(),
        **versions,
    }
