"""Tasks drawn from a seed: endless, and different from any that were published."""

import functools
from random import Random

from gem_core.errors import ConfigError
from gem_swe.bugs import draw_bug
from gem_swe.repository import REPOSITORIES, shipped
from gem_swe.task import SweTask, task_of_bug

__all__ = ["LEVELS", "generate_task"]

LEVELS = {"easy": (1, range(4)), "hard": (2, range(1, 100))}
"""The number of bugs, and the distances between symptom and cause, by level."""


@functools.lru_cache(maxsize=128)
def generate_task(seed: int, *, level: str = "easy") -> SweTask:
    """Return the task of a seed.

    Args:
        seed: The seed; the same one gives the same task.
        level: One of ``LEVELS``.

    Raises:
        ConfigError: The level is not known.
    """
    if level not in LEVELS:
        raise ConfigError(f"level must be one of {', '.join(LEVELS)}; got {level!r}.")
    random = Random(f"swe {level} {seed}")
    bugs, distances = LEVELS[level]
    bug = draw_bug([*map(shipped, REPOSITORIES)], random, bugs=bugs, distances=distances)
    return task_of_bug(bug, f"{bug.repository.name}-{level}-{seed}", style=random.randrange(100))
