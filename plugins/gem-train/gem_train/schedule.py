"""Learning rate schedules."""

import math
from typing import Literal

__all__ = ["Schedule", "share_of_lr"]

Schedule = Literal["constant", "linear", "cosine"]


def share_of_lr(schedule: Schedule, update: int, *, updates: int, warmup: int) -> float:
    """Return the learning rate of an update, as a share of the configured one, in [0, 1].

    Args:
        schedule: The schedule after the warm-up; ``linear`` and ``cosine`` end at 0.
        update: Index of the update, from 0.
        updates: Total number of updates.
        warmup: Number of updates over which it rises from 0.
    """
    if update < warmup:
        return (update + 1) / (warmup + 1)
    done = min(1.0, (update - warmup) / max(1, updates - warmup))
    if schedule == "linear":
        return 1 - done
    if schedule == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    return 1.0
