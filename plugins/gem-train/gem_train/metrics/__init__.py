"""The metrics of a training run and their writers.

The first part of a name is its group: ``rollout/`` (the episodes that a step learned from),
``train/``, ``eval/``, ``time/`` (seconds) or ``speed/``.
"""

from gem_rollout.records.step_metrics import read_metrics
from gem_train.metrics.episodes import rollout_metrics, speed_metrics, staleness_metrics
from gem_train.metrics.writers import Writer, Writers, open_writers

__all__ = [
    "Writer",
    "Writers",
    "open_writers",
    "read_metrics",
    "rollout_metrics",
    "speed_metrics",
    "staleness_metrics",
]
