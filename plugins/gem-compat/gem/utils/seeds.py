"""Seeds as gem-llm takes them: any number, such as ``time.time_ns()``, a negative one, or None."""

import math
import operator
from typing import Any

from gem_core.errors import ConfigError
from gem_core.seeding import child_seed

__all__ = ["any_seed"]


def any_seed(seed: Any) -> int | None:
    """Return a seed for gem-core: an int from 0, or None.

    Args:
        seed: An int of any size, which stays as it is unless it is negative; a float; or None.

    Raises:
        ConfigError: It is not a number; it is a ValueError.
    """
    if seed is None:
        return None
    if isinstance(seed, float) and math.isfinite(seed) and not seed.is_integer():
        return child_seed(0, repr(seed))
    try:
        number = int(seed) if isinstance(seed, float) else operator.index(seed)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"A seed is a number or None; got {seed!r}.") from None
    return number if number >= 0 else child_seed(0, "negative", -number)
