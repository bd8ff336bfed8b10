"""Figures of a training run: what they are, and where they go.

Names have groups: ``rollout/`` (the episodes that a step learned from), ``train/``, ``eval/``,
``time/`` (seconds) and ``speed/``.
"""

from gem_train.metrics.csv_file import read_metrics
from gem_train.metrics.episodes import rollout_metrics
from gem_train.metrics.writers import WRITERS, Writers, open_writers

__all__ = ["WRITERS", "Writers", "open_writers", "read_metrics", "rollout_metrics"]
