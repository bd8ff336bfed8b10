"""Checkpoints: what a run needs to go on as if it had never stopped.

``RUN/checkpoints/000100/`` was written after 100 steps. It is a model that transformers reads, and
``state.pt`` beside it: the trained weights, the optimiser, where the episodes' numbers are, the
curriculum. What is drawn in a step is drawn from the seed and the step's number, so no generator
needs to be kept.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import torch

from gem_core.errors import ConfigError
from gem_train.policy import Policy

__all__ = ["latest_checkpoint", "load_checkpoint", "save_checkpoint"]

_FOLDER, _STATE = "checkpoints", "state.pt"


def save_checkpoint(
    run: Path, step: int, policy: Policy, state: dict[str, Any], *, keep: int
) -> Path:
    """Write a checkpoint whole, and delete the oldest beyond ``keep``.

    Args:
        run: The run's folder.
        step: Steps that are done.
        policy: The policy.
        state: Tensors and plain data.
        keep: How many to keep, at least 1.

    Returns:
        Its folder.

    Raises:
        OSError: The disk is full, for example; older checkpoints are intact.
    """
    folder = run / _FOLDER / f"{step:06d}"
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        policy.save(fresh)
        torch.save({**state, "step": step}, fresh / _STATE)
    except RuntimeError as error:  # how torch and safetensors tell of a full disk
        shutil.rmtree(fresh, ignore_errors=True)
        raise OSError(f"{folder} cannot be written: {error}") from error
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    replaced = fresh.with_name(f"{fresh.name}.replaced")
    if folder.exists():  # deleting first would leave none, if the run is killed meanwhile
        folder.rename(replaced)
    fresh.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    for old in _checkpoints(run)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def latest_checkpoint(run: Path) -> Path:
    """Return the newest checkpoint of a run.

    Raises:
        ConfigError: There is none.
    """
    found = _checkpoints(run)
    if not found:
        raise ConfigError(f"{run} has no checkpoint to go on from.")
    return found[-1]


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """Return the state of a checkpoint, with the number of steps as ``step``.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        state: dict[str, Any] = torch.load(folder / _STATE, map_location="cpu", weights_only=True)
    except Exception as error:  # a cut file fails in many ways
        raise ConfigError(f"The checkpoint {folder} cannot be read: {error}") from error
    return state


def _checkpoints(run: Path) -> list[Path]:
    found = (run / _FOLDER).glob("[0-9]*")
    return sorted(one for one in found if (one / _STATE).is_file())
