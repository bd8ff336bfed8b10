"""The metrics of a training run and their writers.

The first part of a name is its group: ``rollout/`` (the episodes that a step learned from),
``train/``, ``eval/``, ``time/`` (seconds), ``speed/`` or ``memory/``.
"""

from gem_rollout.records.step_metrics import read_metrics
from gem_train.metrics.episodes import rollout_metrics, speed_metrics, staleness_metrics
from gem_train.metrics.memory import peak_memory
from gem_train.metrics.writers import Writer, Writers, open_writers

__all__ = [
    "Writer",
    "Writers",
    "open_writers",
    "peak_memory",
    "read_metrics",
    "rollout_metrics",
    "speed_metrics",
    "staleness_metrics",
]
