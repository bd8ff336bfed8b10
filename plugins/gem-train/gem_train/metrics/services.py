"""Weights & Biases, and trackio.

``wandb.json`` and ``trackio.json`` in the run's folder say which run of the service is this one,
and which steps it has, so that a run that is resumed goes on with it and sends no step twice.
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

__all__ = ["TrackioWriter", "WandbWriter"]

_PROJECT = "gem-train"


class _ServiceWriter(ABC):
    """Sends figures to a service.

    Args:
        folder: The run's folder.
        run_name: What the service calls the run.
        config: What the service is told of it.
        resume_step: Not None to go on with the run that the folder knows.
    """

    service: str

    def __init__(
        self, folder: Path, run_name: str, config: Mapping[str, Any], resume_step: int | None
    ) -> None:
        self._path = folder / f"{self.service}.json"
        state = {} if resume_step is None else _state_of(self._path)
        self._sent = state.get("step", -1)
        self._id = state.get("run", "")
        is_known = bool(self._id)
        self._id = self._id or self._new_id(run_name)
        # Both print, and the standard output is for results.
        with contextlib.redirect_stdout(sys.stderr):
            self._run = self._open(folder, run_name, dict(config), is_known=is_known)
        self._keep(self._sent)

    @abstractmethod
    def _new_id(self, run_name: str) -> str:
        """Return what a run is found by."""

    @abstractmethod
    def _open(self, folder: Path, run_name: str, config: dict[str, Any], *, is_known: bool) -> Any:
        """Return the service's run, a new one or the known one."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the figures of a step, unless the service has had them before the run was resumed.

        Raises:
            Exception: Whatever the service raises.
        """
        if step <= self._sent:
            return
        self._run.log(dict(metrics), step=step)
        self._keep(step)

    def _keep(self, step: int) -> None:
        self._path.write_text(json.dumps({"run": self._id, "step": step}), encoding="utf-8")

    def close(self) -> None:
        """End the service's run."""
        with contextlib.redirect_stdout(sys.stderr):
            self._run.finish()


class WandbWriter(_ServiceWriter):
    """Sends figures to Weights & Biases.

    Its environment variables (``WANDB_PROJECT``, ``WANDB_ENTITY``, ``WANDB_MODE=offline``, ...)
    hold as everywhere; without a project it is ``gem-train``.
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
            settings=wandb.Settings(console="off"),  # a display that moves is no log
        )


class TrackioWriter(_ServiceWriter):
    """Keeps figures in trackio's data base, or sends them where its environment variables say.

    The project is ``TRACKIO_PROJECT``, or ``gem-train`` without.
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
            importlib.import_module("trackio").finish()  # the run's own is called again at exit


def _state_of(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
