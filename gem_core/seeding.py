"""Seeds: every environment has its own generator, and seeds of children do not overlap.

With ``seed + index`` the second environment of run 0 would equal the first of run 1, so a child's
seed is a hash of its parent's seed and its path. The hash does not depend on the process, the
platform or ``PYTHONHASHSEED``.
"""

import operator
import random

from gem_core.errors import ConfigError

__all__ = ["check_seed", "child_seed", "fresh_seed"]


def check_seed(seed: int) -> int:
    """Return ``seed`` as an int; integers of other types, such as numpy's, are accepted.

    Raises:
        ConfigError: ``seed`` is not an integer, or negative (``random.Random`` treats ``-1`` and
            ``1`` as the same seed).
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0 or isinstance(seed, bool):
        raise ConfigError(f"A seed is a non-negative int or None; got {seed!r}.")
    return number


def child_seed(seed: int, *path: int | str) -> int:
    """Derive the seed of a child from its parent's seed and its path below it.

    Args:
        seed: The parent's seed, a non-negative int.
        path: What distinguishes the child from its siblings, such as an index or ``("env", 3)``.

    Returns:
        An int in ``[0, 2**63)``.
    """
    import hashlib  # noqa: PLC0415 - a single environment never needs it

    steps = (step if isinstance(step, str) else operator.index(step) for step in path)
    text = repr((check_seed(seed), *steps)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def fresh_seed() -> int:
    """Return a seed in ``[0, 2**63)`` from the operating system's entropy."""
    return random.SystemRandom().getrandbits(63)
