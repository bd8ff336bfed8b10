"""Listing the environments that a program has registered."""

import time

import gem_core

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (625, 2500, 10_000)
UNIT = "ms of CPU"
TITLE = "listing n ids"
GROWTH = 1
_REPEATS = 5


def measure(size: int) -> float:
    """Return the milliseconds of CPU to list ``size`` ids; the least of a few."""
    for index in range(size):
        gem_core.register(f"row:{index}", "collections:Counter", index=index)
    return min(_seconds() for _ in range(_REPEATS)) * 1000


def _seconds() -> float:
    started = time.process_time()
    gem_core.list_envs("row:*")
    return time.process_time() - started
