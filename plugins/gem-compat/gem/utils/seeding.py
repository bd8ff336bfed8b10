"""Seeds the global random generators, and makes separate ones."""

import operator
import random

import numpy as np

from gem_core.errors import ConfigError

__all__ = ["RNG", "RandomNumberGenerator", "np_random", "set_seed"]

RNG = RandomNumberGenerator = np.random.Generator


def set_seed(seed: int | None = None) -> None:
    """Seed the global ``random`` and ``numpy.random``; None does nothing."""
    if seed is not None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - its purpose


def np_random(seed: int | None = None) -> tuple[np.random.Generator, int]:
    """Return a generator and its seed, which is random if ``seed`` is None.

    Raises:
        ConfigError: The seed is not an int, or is negative.
    """
    if seed is not None:
        try:
            seed = operator.index(seed)
        except TypeError:
            raise ConfigError(f"A seed is a non-negative int or None; got {seed!r}.") from None
        if seed < 0:
            raise ConfigError(f"A seed is a non-negative int or None; got {seed!r}.")
    sequence = np.random.SeedSequence(seed)
    entropy = sequence.entropy
    used = entropy if isinstance(entropy, int) else 0
    return np.random.Generator(np.random.PCG64(sequence)), used
