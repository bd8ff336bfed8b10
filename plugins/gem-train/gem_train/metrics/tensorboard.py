"""Event files for TensorBoard, written by torch's ``SummaryWriter``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

__all__ = ["TensorBoardWriter"]


class TensorBoardWriter:
    """Writes an event file in the run's folder.

    Args:
        folder: The run's folder.
        run_name: Not used: TensorBoard names runs by their folders.
        config: Not used.
        resume_step: TensorBoard hides what earlier files have after this step; None to hide all
            that they have.
    """

    def __init__(
        self, folder: Path, run_name: str, config: Mapping[str, Any], resume_step: int | None
    ) -> None:
        purge_step = 0 if resume_step is None else resume_step + 1
        self._writer = SummaryWriter(folder, purge_step=purge_step)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics of a step to the file.

        Raises:
            OSError: The disk is full, for example. The metrics of this and of later steps are lost.
        """
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: The disk is full, for example.
        """
        self._writer.close()
