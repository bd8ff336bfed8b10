"""Checkpoints: everything that a run needs to continue as if it had never stopped.

``RUN/checkpoints/000100/`` was written after 100 steps. It holds the model in the format of
transformers, which is the only copy of the weights, and ``state.pt``: the optimiser, the episode
counters and the curriculum. All random draws of a step are derived from the seed and the step's
number, so no generator state is saved.

A checkpoint is written by a thread from a copy in the CPU's memory, into a folder that is renamed
at the end. A process that is killed leaves the last whole checkpoint.
"""

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from gem_core.errors import ConfigError
from gem_train.policy import Policy

__all__ = ["CheckpointWriter", "checkpoint_steps", "latest_checkpoint", "load_checkpoint"]

_FOLDER, _STATE = "checkpoints", "state.pt"
_PATIENCE = 3600.0


class CheckpointWriter:
    """Writes checkpoints in the background, one at a time, and deletes the oldest.

    Args:
        run: The run's folder.
        keep: Number of checkpoints to keep, at least 1.
        patience: Seconds to wait for a checkpoint. While one is being written for longer, such as
            to a disk that does not answer, later ones are left out.
    """

    def __init__(self, run: Path, keep: int, *, patience: float = _PATIENCE) -> None:
        self._run, self._keep, self._patience = run, keep, patience
        self._folder = run / _FOLDER
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None

    def save(self, step: int, policy: Policy, state: Mapping[str, Any]) -> OSError | None:
        """Copy a checkpoint, and begin to write it; an earlier one is waited for.

        Args:
            step: Number of finished steps.
            policy: The policy.
            state: Tensors and plain data.

        Returns:
            The error that kept the earlier checkpoint from being written, such as a full disk. If
            that is still being written, this checkpoint is left out.
        """
        error = self.wait()
        if self._thread is not None:
            return error
        self._folder = self._run / _FOLDER / f"{step:06d}"
        weights = policy.weights_copy()
        copied = _copy({**state, "step": step})
        self._thread = threading.Thread(
            target=self._write,
            args=(self._folder, policy, weights, copied),
            name="gem-checkpoint",
            daemon=True,
        )
        self._thread.start()
        return error

    def wait(self) -> OSError | None:
        """Wait until nothing is being written; return the error of the last checkpoint.

        It is also an error that it is still being written.
        """
        if self._thread is not None:
            self._thread.join(self._patience)
            if self._thread.is_alive():
                seconds = f"{self._patience:,g} seconds"
                return OSError(f"{self._folder}: it is still being written after {seconds}.")
        self._thread = None
        error, self._error = self._error, None
        return error

    def _write(
        self, folder: Path, policy: Policy, weights: Mapping[str, Any], state: Mapping[str, Any]
    ) -> None:
        fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
        try:
            _remove_parts(folder.parent)
            fresh.mkdir(parents=True)
            policy.save_weights(fresh, weights)
            torch.save(state, fresh / _STATE)
            self._put(fresh, folder)
        except Exception as error:  # noqa: BLE001 - a full disk has many kinds of errors
            shutil.rmtree(fresh, ignore_errors=True)
            self._error = OSError(f"{folder}: {error}")

    def _put(self, fresh: Path, folder: Path) -> None:
        replaced = fresh.with_name(f"{fresh.name}.replaced")
        if folder.exists():  # deleted last, so that a run killed in between still has a checkpoint
            folder.rename(replaced)
        fresh.rename(folder)
        shutil.rmtree(replaced, ignore_errors=True)
        for old in _checkpoints(self._run)[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)


def _copy(value: Any) -> Any:
    """Return a copy in the CPU's memory."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copy(one) for one in value)
    return value


def _remove_parts(folder: Path) -> None:
    """Remove the incomplete checkpoints that killed processes have left."""
    for part in folder.glob(".[0-9]*"):
        shutil.rmtree(part, ignore_errors=True)


def checkpoint_steps(run: Path) -> list[int]:
    """Return the steps after which the checkpoints of a run were written, in order."""
    return [int(one.name) for one in _checkpoints(run)]


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
