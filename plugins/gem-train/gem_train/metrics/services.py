"""Writers for Weights & Biases and trackio.

``wandb.json`` and ``trackio.json`` in the run's folder hold the id of the service's run and the
last step that was sent, so that a resumed run continues it and sends no step twice.
"""

import contextlib
import importlib
import json
import os
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_core.records import json_value

__all__ = ["TrackioWriter", "WandbWriter"]

_PROJECT = "gem-train"


class _ServiceWriter(ABC):
    """Sends metrics to a service.

    Args:
        folder: The run's folder.
        run_name: The name of the run in the service.
        config: The run's configuration, stored by the service.
        resume_step: None for a new run; otherwise the run named in the folder is continued.
    """

    service: str

    def __init__(
        self, folder: Path, run_name: str, config: Mapping[str, Any], resume_step: int | None
    ) -> None:
        self._path = folder / f"{self.service}.json"
        state = {} if resume_step is None else _read_state(self._path)
        self._sent = state.get("step", -1)
        self._id = state.get("run", "")
        is_known = bool(self._id)
        self._id = self._id or self._new_id(run_name)
        # Both services print to standard output, which is reserved for results.
        with contextlib.redirect_stdout(sys.stderr):
            self._run = self._open(folder, run_name, dict(config), is_known=is_known)
        self._save_state(self._sent)

    @abstractmethod
    def _new_id(self, run_name: str) -> str:
        """Return the id of a new run."""

    @abstractmethod
    def _open(self, folder: Path, run_name: str, config: dict[str, Any], *, is_known: bool) -> Any:
        """Return the service's run: a new one, or the one that the folder names."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the metrics of a step, unless they were sent before the run was resumed.

        Raises:
            Exception: Any error of the service.
        """
        if step <= self._sent:
            return
        self._run.log(dict(metrics), step=step)
        self._save_state(step)

    def _save_state(self, step: int) -> None:
        self._path.write_text(json.dumps({"run": self._id, "step": step}), encoding="utf-8")

    def close(self) -> None:
        """End the service's run."""
        with contextlib.redirect_stdout(sys.stderr):
            self._run.finish()


class WandbWriter(_ServiceWriter):
    """Sends metrics to Weights & Biases.

    Its environment variables (``WANDB_PROJECT``, ``WANDB_ENTITY``, ``WANDB_MODE=offline``, ...)
    apply; the default project is ``gem-train``.
    """

    service = "wandb"

    def _new_id(self, run_name: str) -> str:
        return secrets.token_hex(4)

    def _open(self, folder: Path, run_name: str, config: dict[str, Any], *, is_known: bool) -> Any:
        wandb = importlib.import_module("wandb")
        return wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=run_name,
            id=self._id,
            resume="allow" if is_known else None,
            dir=str(folder),
            config=config,
            settings=wandb.Settings(console="off"),  # a live display is not worth uploading
        )


class TrackioWriter(_ServiceWriter):
    """Writes metrics to trackio's database, or to the server that its environment variables name.

    The project is ``TRACKIO_PROJECT``, by default ``gem-train``.
    """

    service = "trackio"

    def _new_id(self, run_name: str) -> str:
        return f"{run_name}-{secrets.token_hex(4)}"

    def _open(self, folder: Path, run_name: str, config: dict[str, Any], *, is_known: bool) -> Any:
        trackio = importlib.import_module("trackio")
        return trackio.init(
            project=os.environ.get("TRACKIO_PROJECT", _PROJECT),
            name=self._id,
            config=config,
            resume="allow" if is_known else "never",
            embed=False,
            auto_log_cpu=False,
            auto_log_gpu=False,
        )

    def close(self) -> None:
        with contextlib.redirect_stdout(sys.stderr):
            # The run's own finish() would be called a second time at exit.
            importlib.import_module("trackio").finish()


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json_value(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
