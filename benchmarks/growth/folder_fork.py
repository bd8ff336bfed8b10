"""A fork of an episode in a tool world, and what it takes to play on in it."""

import statistics
import time

from growth.folder_read import SIZES, call, playing

__all__ = ["GROWTH", "SIZES", "TITLE", "UNIT", "measure"]

UNIT = "ms"
TITLE = "a fork of tools:Folder with n records, and a call in it that changes one"
GROWTH = 0
_FORKS = 10


def measure(size: int) -> float:
    """Return the median time of a fork and its first call, which changes a record, in ms."""
    with playing(size) as env:
        times = []
        for number in range(_FORKS):
            begun = time.perf_counter()
            env.fork().step(call("close", number))
            times.append(time.perf_counter() - begun)
        return 1e3 * statistics.median(times)
