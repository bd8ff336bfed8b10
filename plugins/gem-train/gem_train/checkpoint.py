"""Checkpoints: everything that a run needs to continue as if it had never stopped.

``RUN/checkpoints/000100/`` was written after 100 steps. It holds a model in the format of
transformers, and ``state.pt``: the trained weights, the optimiser, the episode counters and the
curriculum. All random draws of a step are derived from the seed and the step's number, so no
generator state is saved.
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
    """Write a checkpoint atomically, and delete the oldest ones beyond ``keep``.

    Args:
        run: The run's folder.
        step: Number of finished steps.
        policy: The policy.
        state: Tensors and plain data.
        keep: Number of checkpoints to keep, at least 1.

    Returns:
        The folder of the checkpoint.

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
    except RuntimeError as error:  # torch and safetensors raise it for a full disk
        shutil.rmtree(fresh, ignore_errors=True)
        raise OSError(f"{folder} cannot be written: {error}") from error
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    replaced = fresh.with_name(f"{fresh.name}.replaced")
    if folder.exists():  # deleted last, so that a run killed in between still has a checkpoint
        folder.rename(replaced)
    fresh.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    for old in _checkpoints(run)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def latest_checkpoint(run: Path) -> Path:
    """Return the newest checkpoint of a run.

    Raises:
        ConfigError: The run has no checkpoint.
    """
    found = _checkpoints(run)
    if not found:
        raise ConfigError(f"{run} has no checkpoint to resume from.")
    return found[-1]


def load_checkpoint(folder: Path) -> dict[str, Any]:
    """Return the state of a checkpoint; ``step`` is the number of finished steps.

    Raises:
        ConfigError: The checkpoint cannot be read.
    """
    try:
        state: dict[str, Any] = torch.load(folder / _STATE, map_location="cpu", weights_only=True)
    except Exception as error:  # a truncated file raises many kinds of errors
        raise ConfigError(f"The checkpoint {folder} cannot be read: {error}") from error
    return state


def _checkpoints(run: Path) -> list[Path]:
    found = (run / _FOLDER).glob("[0-9]*")
    return sorted(one for one in found if (one / _STATE).is_file())
