"""Registering environments in a program."""

import time

import gem_core

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

SIZES = (625, 2500, 10_000)
UNIT = "ms of CPU"
TITLE = "registering n ids"
GROWTH = 1


def measure(size: int) -> float:
    """Return the milliseconds of CPU to register ``size`` ids, once the plugins are loaded."""
    gem_core.register("row:First-v0", "collections:Counter")
    started = time.process_time()
    for index in range(size):
        gem_core.register(f"row:{index}", "collections:Counter", index=index)
    return (time.process_time() - started) * 1000
