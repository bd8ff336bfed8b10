"""Seeds of the generators that programs share, and generators of one's own."""

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
        np.random.seed(seed)  # noqa: NPY002 - what it is for


def np_random(seed: int | None = None) -> tuple[np.random.Generator, int]:
    """Return a generator and its seed, a fresh one if there is none.

    Raises:
        ConfigError: The seed is no int, or negative.
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
